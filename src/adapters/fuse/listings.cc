// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/listings.h"

namespace agentfs::fuse {

void Listings::Listed(uint64_t directory, size_t entries, bool begins) {
  Shard& shard = ShardOf(directory);
  absl::MutexLock lock(&shard.mu);
  Listing& listing = shard.listings[directory];
  if (begins) listing = {};
  listing.entries += entries;
}

bool Listings::Read(uint64_t directory) {
  Shard& shard = ShardOf(directory);
  absl::MutexLock lock(&shard.mu);
  const auto it = shard.listings.find(directory);
  if (it == shard.listings.end()) return false;
  if (++it->second.reads * kReadShare < it->second.entries) return false;
  shard.listings.erase(it);
  return true;
}

void Listings::Forget(uint64_t directory) {
  Shard& shard = ShardOf(directory);
  absl::MutexLock lock(&shard.mu);
  shard.listings.erase(directory);
}

}  // namespace agentfs::fuse
