// SPDX-License-Identifier: Apache-2.0
//
// Files that are synced again and again while they grow, like logs. A mark on the disk says that
// such a file may be longer than its record: as long as the object that holds its end. So a sync of
// what was appended is the sync of that object alone (docs/decisions/0017-growing-files.md).
//
// A mark goes with whatever lets the object's end be another than the file's (it is made shorter, a
// hole is punched, its content dropped, its layer sealed), in the same change, and when the volume
// is closed. Marks that are there when it is opened are of a crash. One whose object cannot be read
// then stays, and nobody reads or writes the file: where it ends is not known.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/ids.h"
#include "agentfs/store.h"
#include "core/journal.h"

namespace agentfs {

// A row of `growing`.
struct GrowthMark {
  ContentId content;
  LayerId layer;  // an open one
  NodeId node;
  ObjectId object;  // it has the file's last byte, and ends with it

  RowKey Key() const;
  RowValue Value() const;
  // nullopt: not such a row (a damaged store).
  static std::optional<GrowthMark> Parse(std::string_view key, std::string_view value);
};

// The marks of a volume. Thread-safe; a leaf among the locks. What takes a Change or an Exclusive
// appends rows to it.
class GrowingFiles {
 public:
  // As many files have a mark; beyond, the oldest loses its own.
  static constexpr size_t kMost = 64;

  // Whether the layer's content has a mark, and it is on stable storage.
  bool IsMarked(const Journal& journal, ContentId content, LayerId layer) const;
  // The file's rows are on stable storage, its object ends where it does.
  void Begin(Journal::Change& change, const GrowthMark& mark);
  // No error if there is none.
  void End(Journal::Change& change, ContentId content);
  void EndLayer(Journal::Exclusive& exclusive, LayerId layer);
  // But for those that are unread.
  void EndAll(Journal::Change& change);

  // The mark of a crash, which is on the disk, stays there: its object cannot be read.
  void KeepUnread(const GrowthMark& mark);
  bool IsUnread(ContentId content, LayerId layer) const;

 private:
  struct Entry {
    GrowthMark mark;
    uint64_t batch = 0;  // that the mark went into
    bool unread = false;
  };
  std::optional<GrowthMark> Take(ContentId content);
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  mutable absl::Mutex mu_;
  absl::flat_hash_map<ContentId, Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::deque<ContentId> oldest_first_ ABSL_GUARDED_BY(mu_);  // without those that are unread
  std::atomic<size_t> count_{0}, unread_{0};                 // of entries; of those that are unread
};

}  // namespace agentfs
