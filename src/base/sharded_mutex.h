// SPDX-License-Identifier: Apache-2.0
//
// A lock that every operation shares and hardly anything takes for itself.
#pragma once

#include <array>
#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs {

// Sharing it costs a write to a cache line that few threads share; taking it exclusively costs one
// lock for each shard. Shared and exclusive holds end on the thread that they began on.
class ABSL_LOCKABLE ShardedMutex {
 public:
  void ReaderLock() ABSL_SHARED_LOCK_FUNCTION() { Mine().ReaderLock(); }
  void ReaderUnlock() ABSL_UNLOCK_FUNCTION() { Mine().ReaderUnlock(); }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  void Unlock() ABSL_UNLOCK_FUNCTION();
  // For the analysis alone: in a lambda it does not see what its function holds.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  static constexpr size_t kShards = 8;
  struct alignas(64) Shard {
    absl::Mutex mu;
  };
  absl::Mutex& Mine() { return shards_[ShardOfThread()].mu; }
  static size_t ShardOfThread();

  std::array<Shard, kShards> shards_;
};

}  // namespace agentfs
