// SPDX-License-Identifier: Apache-2.0
//
// The entries of a directory in memory: all that the layers say of it. What the base adds is asked
// of the base when needed, because it may change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "agentfs/base_fs.h"
#include "agentfs/filesystem.h"
#include "agentfs/ids.h"

namespace agentfs {

// One name. Node 0 is a whiteout: the name does not exist, whatever the base says.
class NameEntry {
 public:
  static NameEntry* Make(std::string_view name);
  static void Destroy(NameEntry* entry);

  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), length_}; }
  NodeId node_id() const { return node ? node->id() : id; }
  bool IsWhiteout() const { return !node && !id; }

  NodeRef node;        // the node, if it is in memory
  NodeId id;           // its id (0: a whiteout)
  LayerId layer;       // of the row
  uint8_t type = 0;    // the S_IFMT bits, shifted right by 12
  bool shadows = false;  // an older row or the base has the name: removing it takes a whiteout

 private:
  explicit NameEntry(uint8_t length) : length_(length) {}
  ~NameEntry() = default;
  uint8_t length_;
};

// A position in a directory: derived from the name alone, so that it needs no state and survives
// everything. Never 0; below 2^63.
uint64_t NameCursor(std::string_view name);

// Guarded by its node's mutex.
class Directory {
 public:
  Directory() = default;
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  NameEntry* Find(std::string_view name) const {
    auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : *it;
  }
  // A new, empty entry; the name must not be there.
  NameEntry* Insert(std::string_view name);
  void Erase(NameEntry* entry);
  void Clear();

  // Entries (whiteouts too) and the base's names in one order, from after `cursor`.
  // `base_name` is null where the base has nothing to add.
  struct Item {
    uint64_t cursor;
    NameEntry* entry;            // null: only the base has it
    const BaseEntry* base_entry; // null: only the layers have it
  };
  // Gives up to `limit` items; whiteouts are left out.
  std::vector<Item> ListAfter(uint64_t cursor, size_t limit);

  // The base's listing, kept for a listing in progress.
  void SetBaseListing(std::vector<BaseEntry> names, const Timestamp& mtime);
  bool HasBaseListing(const Timestamp& mtime) const {
    return base_listed_ && base_mtime_ == mtime;
  }
  bool has_base_listing() const { return base_listed_; }
  void DropBaseListing();

  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  bool loaded = false;  // the entries are all there

 private:
  struct ByName {
    using is_transparent = void;
    size_t operator()(std::string_view name) const;
    size_t operator()(const NameEntry* entry) const { return (*this)(entry->name()); }
    bool operator()(const NameEntry* a, const NameEntry* b) const { return a == b; }
    bool operator()(const NameEntry* a, std::string_view b) const { return a->name() == b; }
    bool operator()(std::string_view a, const NameEntry* b) const { return b->name() == a; }
  };
  using Position = std::pair<uint64_t, std::string_view>;
  void BuildOrder();

  absl::flat_hash_set<NameEntry*, ByName, ByName> entries_;
  // The same entries by cursor; made by the first listing.
  std::unique_ptr<absl::btree_map<Position, NameEntry*>> ordered_;
  std::vector<std::pair<uint64_t, BaseEntry>> base_names_;  // by cursor, then name
  bool base_listed_ = false;
  Timestamp base_mtime_;
};

}  // namespace agentfs
