// SPDX-License-Identifier: Apache-2.0
//
// Sharing blocks with a host file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agentfs/blob_store.h"
#include "xfs_mount.h"

namespace agentfs {
namespace {

using ReflinkTest = XfsMountTest;

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
