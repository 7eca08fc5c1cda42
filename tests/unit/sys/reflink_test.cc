// SPDX-License-Identifier: Apache-2.0
//
// Sharing blocks with a host file, on a loop-mounted XFS: needs root, mkfs.xfs and loop devices.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>

#include "agentfs/blob_store.h"
#include "scratch.h"

namespace agentfs {
namespace {

bool Shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

class ReflinkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
    WriteHostFile(host_ / "disk", "");
    ASSERT_EQ(::truncate((host_ / "disk").c_str(), 400 << 20), 0);
    MakeHostDirectory(mount_);
    if (!Shell("PATH=$PATH:/usr/sbin:/sbin mkfs.xfs -q -m reflink=1 '" + (host_ / "disk") + "'")) {
      GTEST_SKIP() << "mkfs.xfs does not work here";
    }
    // mount(8) makes the loop device and umount(2) frees it again (autoclear).
    if (!Shell("mount -o loop '" + (host_ / "disk") + "' '" + mount_ + "'")) {
      GTEST_SKIP() << "a loop mount of XFS does not work here";
    }
    mounted_ = true;
  }

  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(::umount2(mount_.c_str(), 0), 0);
    }
  }

  uint64_t FreeBytes() const {
    struct statvfs fs = {};
    ::sync();
    EXPECT_EQ(::statvfs(mount_.c_str(), &fs), 0);
    return uint64_t{fs.f_bfree} * fs.f_frsize;
  }

  Scratch host_;
  const std::string mount_ = host_ / "mount";
  bool mounted_ = false;
};

TEST_F(ReflinkTest, CloneRangeSharesAlignedAndUnalignedRanges) {
  constexpr uint64_t kSize = 32 << 20;
  WriteHostFile(mount_ + "/source", std::string(kSize + 123, 's'));
  {
    auto store = OpenHostBlobStore(mount_ + "/objects");
    ASSERT_TRUE(store.ok());
    int source = ::open((mount_ + "/source").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(source, 0);
    const uint64_t before = FreeBytes();

    auto whole = (*store)->Create(ObjectId(1));
    auto shared = (*whole)->CloneRange(source, 0, kSize + 123, 0);
    ASSERT_TRUE(shared.ok()) << shared.error().message();
    EXPECT_TRUE(*shared);

    // An end in the middle of the source is no block boundary: most is shared, the tail copied.
    auto part = (*store)->Create(ObjectId(2));
    shared = (*part)->CloneRange(source, 0, kSize - 77, 0);
    ASSERT_TRUE(shared.ok()) << shared.error().message();
    EXPECT_TRUE(*shared);

    char tail[2];
    ASSERT_TRUE((*part)->Read(kSize - 78, tail).ok());
    EXPECT_EQ(std::string(tail, 2), std::string("s\0", 2));
    // XFS allocates ahead of a write at the end of a file, until it is closed.
    part->reset();
    EXPECT_LT(before - FreeBytes(), 1u << 20);

    // A write to the copy is not one to the source.
    ASSERT_TRUE((*whole)->Write(0, std::string_view("changed")).ok());
    char head[7];
    ASSERT_EQ(::pread(source, head, 7, 0), 7);
    EXPECT_EQ(std::string(head, 7), "sssssss");

    // Unequal offsets within a block cannot be shared, and are still right.
    auto shifted = (*store)->Create(ObjectId(3));
    shared = (*shifted)->CloneRange(source, 1, 5000, 0);
    ASSERT_TRUE(shared.ok());
    EXPECT_FALSE(*shared);
    ::close(source);
  }
}

}  // namespace
}  // namespace agentfs
