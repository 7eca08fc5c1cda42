// SPDX-License-Identifier: Apache-2.0
//
// The chunks of file content in memory, in the order in which they came. Past the budget the
// oldest clean ones are dropped; what is not committed yet cannot be.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/ids.h"

namespace agentfs {

class ViewNodes;

// Thread-safe. Its lock is taken last; while it is held, a node's lock is only tried for.
class ContentCache {
 public:
  explicit ContentCache(uint64_t budget) : budget_(budget) {}

  void Added(ViewNodes& owner, NodeId node, uint64_t chunk, uint64_t bytes);
  // The bytes held have changed: a chunk grew, shrank or went.
  void Resized(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  bool OverBudget() const { return bytes() > budget_; }
  // Drops chunks until the budget holds, every chunk was tried once, or `tries` were. No lock of a
  // node may be held.
  void Trim(size_t tries = SIZE_MAX);
  // Forgets the chunks of a view that goes away.
  void Forget(const ViewNodes& owner);
  uint64_t bytes() const {
    const int64_t bytes = bytes_.load(std::memory_order_relaxed);
    return bytes < 0 ? 0 : static_cast<uint64_t>(bytes);
  }

 private:
  struct Item {
    ViewNodes* owner;
    NodeId node;
    uint64_t chunk;
  };

  const uint64_t budget_;
  std::atomic<int64_t> bytes_{0};
  absl::Mutex mu_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
