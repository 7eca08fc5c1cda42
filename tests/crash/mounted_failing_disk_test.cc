// SPDX-License-Identifier: Apache-2.0
//
// A disk that fails under a mount: who writes is told with its errno, when writing or at fsync.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "mount_rig.h"
#include "rig.h"
#include "store/faulty_store.h"

namespace agentfs::crash {
namespace {

class MountedFailingDiskTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (const std::string why = posix::WhyNoMounts(); !why.empty()) GTEST_SKIP() << why;
    const std::string place = workspace_.state_directory() + "-mount";
    std::filesystem::create_directory(place);
    watchdog_ = std::make_unique<posix::Watchdog>(place);
    volume_ =
        OpenVolume({}, workspace_.state_directory(), "", 2, [&](std::unique_ptr<Store> store) {
          auto faulty = std::make_unique<FaultyStore>(std::move(store));
          disk_ = faulty.get();
          return faulty;
        }).value();
    mount_ = posix::MountRig::Start(*volume_, place).value();
  }
  ~MountedFailingDiskTest() override {
    mount_.reset();
    volume_.reset();
  }

  std::string Path(const std::string& name) const { return mount_->path() + "/" + name; }
  int Open(const std::string& name) const {
    return ::open(Path(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  }
  static std::string Read(int file) {
    char bytes[16];
    const ssize_t size = ::pread(file, bytes, sizeof bytes, 0);
    return size < 0 ? Error(errno).message() : std::string(bytes, static_cast<size_t>(size));
  }

  Workspace workspace_{crash::Setup{}};
  std::unique_ptr<posix::Watchdog> watchdog_;
  FaultyStore* disk_ = nullptr;  // the volume's
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<posix::MountRig> mount_;
};

TEST_P(MountedFailingDiskTest, WhoWritesIsToldAndNothingElseIsHarmed) {
  const int kept = Open("kept"), file = Open("file");
  ASSERT_EQ(::pwrite(kept, "kept", 4, 0), 4);
  ASSERT_EQ(::fsync(kept), 0);
  disk_->FailCommits(GetParam());
  const bool written = ::pwrite(file, "new", 3, 0) == 3;
  EXPECT_TRUE(written || errno == GetParam()) << errno;
  EXPECT_EQ(::fsync(file), -1);
  EXPECT_EQ(errno, GetParam());
  EXPECT_EQ(::pwrite(file, "new", 3, 0), -1) << "the next is told before it begins";
  EXPECT_EQ(errno, GetParam());
  EXPECT_EQ(Open("another"), -1);
  EXPECT_EQ(errno, GetParam());
  EXPECT_EQ(Read(kept), "kept");
  disk_->Heal();
  EXPECT_EQ(::fsync(file), 0);
  EXPECT_EQ(::pwrite(file, "good", 4, 0), 4);
  EXPECT_EQ(::fsync(file), 0);
  EXPECT_EQ(Read(file), "good");
  EXPECT_EQ(Read(kept), "kept");
  ::close(kept);
  ::close(file);
}

INSTANTIATE_TEST_SUITE_P(Errors, MountedFailingDiskTest, testing::Values(EIO, ENOSPC));

}  // namespace
}  // namespace agentfs::crash
