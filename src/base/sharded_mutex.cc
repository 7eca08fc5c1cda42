// SPDX-License-Identifier: Apache-2.0
#include "base/sharded_mutex.h"

#include <atomic>

namespace agentfs {

size_t ShardedMutex::ShardOfThread() {
  static std::atomic<size_t> next{0};
  static thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kShards;
  return mine;
}

void ShardedMutex::Lock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (Shard& shard : shards_) shard.mu.Lock();
}

void ShardedMutex::Unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (Shard& shard : shards_) shard.mu.Unlock();
}

}  // namespace agentfs
