// SPDX-License-Identifier: Apache-2.0
#include "sys/disk_reserve.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scratch.h"

namespace agentfs {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// What a disk of 64 MiB, of which 8 are kept, says of itself.
FsStats DiskWith(uint64_t free) {
  FsStats disk;
  disk.blocks = 64 * kMiB / disk.block_size;
  disk.blocks_free = disk.blocks_available = free / disk.block_size;
  return disk;
}

class DiskReserveTest : public testing::Test {
 protected:
  uint64_t BytesOnDisk() const {
    struct stat found;
    return ::stat(file_.c_str(), &found) == 0 ? static_cast<uint64_t>(found.st_blocks) * 512 : 0;
  }
  const Scratch scratch_;
  const std::string file_ = scratch_ / "db-reserve";
};

TEST_F(DiskReserveTest, HoldsBlocksOfADiskThatIsGettingFull) {
  DiskReserve reserve(file_);
  EXPECT_EQ(reserve.Hold(DiskWith(4096 * kMiB)), 0u);
  EXPECT_EQ(BytesOnDisk(), 0u);
  EXPECT_EQ(reserve.Hold(DiskWith(40 * kMiB)), 4 * kMiB);
  EXPECT_GE(BytesOnDisk(), 4 * kMiB);
  EXPECT_EQ(reserve.Hold(DiskWith(0)), 4 * kMiB);
  EXPECT_EQ(reserve.Hold(DiskWith(4096 * kMiB)), 0u) << "there is much room again";
  EXPECT_EQ(BytesOnDisk(), 0u);
}

TEST_F(DiskReserveTest, LeavesAsMuchFreeAsItTakes) {
  DiskReserve reserve(file_);
  EXPECT_EQ(reserve.Hold(DiskWith(4 * kMiB)), 2 * kMiB);
  EXPECT_EQ(reserve.Hold(DiskWith(6 * kMiB)), 4 * kMiB);
}

TEST_F(DiskReserveTest, LendsItAndTakesItAgain) {
  DiskReserve reserve(file_);
  EXPECT_FALSE(reserve.Lend()) << "there is nothing";
  reserve.Hold(DiskWith(40 * kMiB));
  EXPECT_TRUE(reserve.Lend());
  EXPECT_EQ(BytesOnDisk(), 0u);
  EXPECT_EQ(reserve.Hold(DiskWith(40 * kMiB)), 0u) << "somebody uses it";
  reserve.Return();
  EXPECT_EQ(reserve.Hold(DiskWith(40 * kMiB)), 4 * kMiB);
}

TEST_F(DiskReserveTest, TakesOverWhatAKilledProcessHasLeft) {
  const std::string left = scratch_ / "left";
  {
    DiskReserve reserve(file_);
    reserve.Hold(DiskWith(40 * kMiB));
    ASSERT_EQ(::rename(file_.c_str(), left.c_str()), 0);
  }
  ASSERT_EQ(::rename(left.c_str(), file_.c_str()), 0);
  DiskReserve reserve(file_);
  EXPECT_TRUE(reserve.Lend());
  EXPECT_EQ(BytesOnDisk(), 0u);
}

TEST_F(DiskReserveTest, TouchesNoFileThatHasContent) {
  WriteHostFile(file_, "somebody's");
  {
    DiskReserve reserve(file_);
    EXPECT_EQ(reserve.Hold(DiskWith(40 * kMiB)), 0u);
    EXPECT_FALSE(reserve.Lend());
  }
  EXPECT_EQ(ReadHostFile(file_), "somebody's");
}

}  // namespace
}  // namespace agentfs
