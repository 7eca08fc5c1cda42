// SPDX-License-Identifier: Apache-2.0
//
// The content of a regular file in memory: chunks (small files, and all files of a single-file
// volume) or spans over objects (large files). Both lie sparsely over the base.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "agentfs/blob_store.h"
#include "agentfs/buffer.h"
#include "agentfs/ids.h"
#include "agentfs/store.h"
#include "core/records.h"

namespace agentfs {

// A map that takes a pointer's room while it is empty, as it is for most files. References to
// values stay valid until they are erased.
template <typename Value>
class LazyMap {
 public:
  using Map = std::map<uint64_t, Value>;
  bool empty() const { return map_ == nullptr || map_->empty(); }
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  auto find(uint64_t key) const { return get().find(key); }
  auto lower_bound(uint64_t key) const { return get().lower_bound(key); }
  Value& operator[](uint64_t key) {
    if (map_ == nullptr) map_ = std::make_unique<Map>();
    return (*map_)[key];
  }
  void erase(uint64_t key) {
    if (map_ != nullptr) map_->erase(key);
  }

 private:
  Map& get() const {
    static Map none;  // stays empty
    return map_ == nullptr ? none : *map_;
  }
  std::unique_ptr<Map> map_;
};

// One chunk. Bytes past the buffer's end are zeros. A chunk without buffer and `known` is a hole
// (or the base's, see `layer`); one that is not known must be asked of the store.
struct Chunk {
  Buffer bytes;
  LayerId layer;             // of its row; none: there is no row
  uint64_t batch = 0;        // the batch that its row was last put into
  Mutation* slot = nullptr;  // the row there
  uint32_t stored = 0;       // the length of the row's bytes
  bool known = false;
  bool present = false;  // the row has bytes; else it says "hole"
  bool cached = false;   // counted by the content cache
};

// What the row of one span says.
struct Span {
  Runs runs;
  LayerId layer;  // of its row; none: there is no row
  uint64_t batch = 0;
  Mutation* slot = nullptr;
};

// Guarded by its node's mutex.
struct FileContent {
  uint64_t base_end = 0;  // below this, what no row covers is the base's
  ObjectId object;        // the object that `object_layer` writes
  LayerId object_layer;
  bool object_recorded = false;  // it has its row in `objects`
  std::shared_ptr<BlobObject> open_object;
  uint64_t host_file = 0;  // not 0: `object` is this file (its inode), which others may write too
  uint64_t cut_batch = 0;  // the last batch that made a file of pages shorter
  // The last batch without which the content could not be read back: since then pages of `object`
  // were overwritten in place, or appended to a file that is marked as growing, and no more.
  static constexpr uint64_t kUnknownBatch = UINT64_MAX;
  uint64_t needed_batch = kUnknownBatch;
  uint64_t synced_size = 0;  // that the last sync of it by rows found
  uint8_t growths = 0;       // how many of these found it longer than the one before
  bool only_first = false;   // no chunk but the first has ever had a row
  Chunk first;               // chunk 0: most files have no other
  LazyMap<Chunk> others;
  LazyMap<Span> spans;  // known ones

  // Bytes that the content cache counts.
  int64_t CachedBytes() const {
    int64_t bytes = first.cached ? static_cast<int64_t>(first.bytes.capacity()) : 0;
    for (const auto& [index, chunk] : others) {
      if (chunk.cached) bytes += static_cast<int64_t>(chunk.bytes.capacity());
    }
    return bytes;
  }

  Chunk& chunk(uint64_t index) { return index == 0 ? first : others[index]; }
  Chunk* FindChunk(uint64_t index) {
    if (index == 0) return &first;
    auto it = others.find(index);
    return it == others.end() ? nullptr : &it->second;
  }
};

}  // namespace agentfs
