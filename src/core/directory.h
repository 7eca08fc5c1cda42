// SPDX-License-Identifier: Apache-2.0
//
// The entries of a directory in memory: all that the layers say of it. What the base adds is asked
// of the base when needed, because it may change.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/base_fs.h"
#include "agentfs/filesystem.h"
#include "agentfs/ids.h"
#include "core/name_table.h"

namespace agentfs {

// A position in a directory: derived from the name alone, so that it needs no state and survives
// everything. Never 0; below 2^63.
uint64_t NameCursor(std::string_view name);

// Guarded by its node's mutex, which NoteBaseNode needs only shared.
class Directory {
 public:
  Directory() = default;
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  NameEntry* Find(std::string_view name) const { return entries_.Find(name); }
  // A new, empty entry; the name must not be there.
  NameEntry* Insert(std::string_view name);
  void Erase(NameEntry* entry);
  void Clear();

  struct BaseName : BaseEntry {
    uint64_t cursor = 0;
    NodeId node = {};  // what the base had there when it was asked last; none: it was not
  };
  // Entries (whiteouts too) and the base's names in one order, from after `cursor`.
  struct Item {
    uint64_t cursor;
    NameEntry* entry;      // null: only the base has it
    BaseName* base_entry;  // null: only the layers have it
  };
  // Gives up to `limit` items; whiteouts are left out.
  std::vector<Item> ListAfter(uint64_t cursor, size_t limit);

  // The base's listing, kept for a listing in progress.
  void SetBaseListing(std::vector<BaseEntry> names, const Timestamp& mtime);
  bool HasBaseListing(const Timestamp& mtime) const { return base_listed_ && base_mtime_ == mtime; }
  bool has_base_listing() const { return base_listed_; }
  void DropBaseListing();
  // What the base has at a name, for the next listing: it was asked.
  void NoteBaseNode(std::string_view name, NodeId node) ABSL_LOCKS_EXCLUDED(noted_mu_);

  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  bool loaded = false;               // the entries are all there
  bool forgets = false;              // older layers may have rows of names that have no entry
  std::atomic<uint64_t> watched{0};  // the generation of the base's watch on it

 private:
  using Position = std::pair<uint64_t, std::string_view>;
  struct Placed {
    uint64_t cursor;
    NameEntry* entry;
    Position position() const { return {cursor, entry->name()}; }
  };
  struct ByPosition {
    using is_transparent = void;
    bool operator()(const Placed& a, const Placed& b) const {
      return a.cursor != b.cursor ? a.cursor < b.cursor : a.entry->name() < b.entry->name();
    }
    bool operator()(const Placed& a, const Position& b) const { return a.position() < b; }
    bool operator()(const Position& a, const Placed& b) const { return a < b.position(); }
  };
  void BuildOrder();

  NameTable entries_;
  // The same entries by cursor; made by the first listing.
  std::unique_ptr<absl::btree_set<Placed, ByPosition>> ordered_;
  std::vector<BaseName> base_names_;  // by cursor, then name
  bool base_listed_ = false;
  absl::Mutex noted_mu_;
  absl::flat_hash_map<uint64_t, NodeId> noted_ ABSL_GUARDED_BY(noted_mu_);  // by cursor
  Timestamp base_mtime_;
};

}  // namespace agentfs
