// SPDX-License-Identifier: Apache-2.0
//
// Keeps the last of the disk for commits. A filesystem whose disk is full must be able to record
// that files were removed, or it stays full for ever.
#pragma once

#include <atomic>
#include <cstdint>

#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

// Thread-safe.
class RoomGuard {
 public:
  explicit RoomGuard(Store& store) : store_(store) {}

  // Before something that takes about `bytes` is begun, with `pending` bytes not committed yet.
  // ENOSPC: what is left is for those who free space.
  Result<void> Take(uint64_t bytes, uint64_t pending) {
    const auto cost = static_cast<int64_t>(bytes + kOverhead);
    if (budget_.fetch_sub(cost, std::memory_order_relaxed) >= cost) [[likely]]
      return Ok();
    return Look(static_cast<uint64_t>(cost), pending);
  }
  // After a commit: what was found out is old.
  void LookAgain(uint64_t pending) { (void)Look(0, pending); }
  // What one commit may take of a disk that is nearly full; unlimited on others.
  uint64_t commit_bytes() const { return commit_bytes_.load(std::memory_order_relaxed); }

 private:
  // What an operation takes at most besides its bytes: rows, and a page for each end.
  static constexpr uint64_t kOverhead = 16 << 10;

  Result<void> Look(uint64_t cost, uint64_t pending);

  Store& store_;
  std::atomic<int64_t> budget_{0};  // what may be taken before somebody looks again
  std::atomic<uint64_t> commit_bytes_{Store::Room::kUnlimited};
};

}  // namespace agentfs
