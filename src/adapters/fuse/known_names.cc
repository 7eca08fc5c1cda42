// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/known_names.h"

namespace agentfs::fuse {

bool KnownNames::Add(uint64_t directory, std::string_view name) {
  Shard& shard = ShardOf(directory);
  absl::MutexLock lock(&shard.mu);
  auto& names = shard.names[directory];
  if (names.size() >= kMostOfADirectory) return names.contains(std::string(name));
  names.insert(std::string(name));
  return true;
}

void KnownNames::Forget(uint64_t directory) {
  Shard& shard = ShardOf(directory);
  absl::MutexLock lock(&shard.mu);
  shard.names.erase(directory);
}

std::vector<std::pair<uint64_t, std::string>> KnownNames::TakeAll() {
  std::vector<std::pair<uint64_t, std::string>> all;
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    for (const auto& [directory, names] : shard.names) {
      for (const std::string& name : names) all.emplace_back(directory, name);
    }
    shard.names.clear();
  }
  return all;
}

}  // namespace agentfs::fuse
