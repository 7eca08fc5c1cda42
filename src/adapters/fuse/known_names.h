// SPDX-License-Identifier: Apache-2.0
//
// Which names the kernel may have in its cache, present and absent ones: kept for kernels that
// cannot be told to drop all entries at once (before Linux 6.16), so that each can be named.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

namespace agentfs::fuse {

// Thread-safe. Ids are the kernel's.
class KnownNames {
 public:
  // False: there are too many of the directory already, and the kernel must not keep this one.
  bool Add(uint64_t directory, std::string_view name);
  void Forget(uint64_t directory);
  // All of them; none is known afterwards.
  std::vector<std::pair<uint64_t, std::string>> TakeAll();

 private:
  static constexpr size_t kShards = 16;
  static constexpr size_t kMostOfADirectory = 200'000;
  struct alignas(64) Shard {
    absl::Mutex mu;
    absl::flat_hash_map<uint64_t, absl::flat_hash_set<std::string>> names ABSL_GUARDED_BY(mu);
  };
  Shard& ShardOf(uint64_t directory) { return shards_[directory % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace agentfs::fuse
