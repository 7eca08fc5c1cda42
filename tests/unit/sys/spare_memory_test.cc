// SPDX-License-Identifier: Apache-2.0
#include "sys/spare_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace agentfs {
namespace {

constexpr uint64_t kBurst = uint64_t{64} << 20;
constexpr size_t kPiece = 4096;

TEST(SpareMemoryTest, ReturnsWhatWasFreedOnceTheProcessGrowsNoMore) {
#ifdef AGENTFS_SANITIZED
  GTEST_SKIP() << "the sanitizers have allocators of their own";
#endif
  SpareMemory memory;
  memory.GiveBack();
  std::vector<std::unique_ptr<char[]>> pieces;
  for (uint64_t bytes = 0; bytes < kBurst; bytes += kPiece) {
    pieces.push_back(std::make_unique<char[]>(kPiece));
  }
  const uint64_t most = ResidentBytes();
  // The last one stays, so that nothing can be cut off the end of the heap.
  const std::unique_ptr<char[]> last = std::move(pieces.back());
  pieces.clear();
  memory.GiveBack();  // it has grown since
  EXPECT_GT(ResidentBytes() + kBurst / 2, most);
  memory.GiveBack();
  EXPECT_LT(ResidentBytes() + kBurst / 2, most);
}

}  // namespace
}  // namespace agentfs
