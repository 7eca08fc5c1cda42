// SPDX-License-Identifier: Apache-2.0
//
// Which directories' listings the kernel keeps, and how many of their files it has read since.
//
// After a READ the kernel takes the file's attributes for out of date (its access time) and asks
// for them at the next stat: one message a file. A listing with attributes says them for a whole
// directory, but is not asked for while the kernel keeps the last one. So a listing is dropped once
// when a good part of its files were read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace agentfs::fuse {

// Thread-safe. Ids are the kernel's.
class Listings {
 public:
  // The kernel was given `entries` of the directory; `begins`: the first of them.
  void Listed(uint64_t directory, size_t entries, bool begins);
  // A file of the directory is read from its start. True, once: its listing should be dropped.
  bool Read(uint64_t directory);
  void Forget(uint64_t directory);

 private:
  static constexpr size_t kShards = 16;
  // Of so many entries one has to be read.
  static constexpr size_t kReadShare = 4;
  struct Listing {
    size_t entries = 0;
    size_t reads = 0;
  };
  struct alignas(64) Shard {
    absl::Mutex mu;
    absl::flat_hash_map<uint64_t, Listing> listings ABSL_GUARDED_BY(mu);
  };
  Shard& ShardOf(uint64_t directory) { return shards_[directory % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace agentfs::fuse
