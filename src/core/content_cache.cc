// SPDX-License-Identifier: Apache-2.0
#include "core/content_cache.h"

#include <algorithm>
#include <optional>

#include "core/view_nodes.h"

namespace agentfs {

void ContentCache::Added(ViewNodes& owner, NodeId node, uint64_t chunk, uint64_t bytes) {
  Resized(static_cast<int64_t>(bytes));
  absl::MutexLock lock(&mu_);
  items_.push_back({&owner, node, chunk});
}

void ContentCache::Trim(size_t tries) {
  // Held throughout, so that no owner goes away meanwhile: DropChunk only tries for other locks.
  absl::MutexLock lock(&mu_);
  for (tries = std::min(tries, items_.size()); tries > 0 && OverBudget(); --tries) {
    const Item item = items_.front();
    items_.pop_front();
    if (!item.owner->DropChunk(item.node, item.chunk)) items_.push_back(item);
  }
}

void ContentCache::Forget(const ViewNodes& owner) {
  absl::MutexLock lock(&mu_);
  items_.erase(std::remove_if(items_.begin(), items_.end(),
                              [&](const Item& item) { return item.owner == &owner; }),
               items_.end());
}

}  // namespace agentfs
