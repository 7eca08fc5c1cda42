// SPDX-License-Identifier: Apache-2.0
#include "core/directory.h"

#include <algorithm>
#include <utility>

#include "agentfs/path.h"

namespace agentfs {

// FNV-1a and a final mix. It is written down in applications' telldir positions only, never in the
// store, so it may change between versions.
uint64_t NameCursor(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001B3u;
  hash ^= hash >> 32;
  hash *= 0x9E3779B97F4A7C15u;
  // Never 0, and below 2^63. Two names may share a cursor (one in 2^62): ListAfter gives all names
  // of a cursor in one piece.
  return (hash >> 1) | 1;
}

Directory::~Directory() { Clear(); }

void Directory::Clear() {
  ordered_.reset();
  const NameTable entries = std::exchange(entries_, NameTable());
  for (NameEntry* entry : entries) NameEntry::Destroy(entry);
  DropBaseListing();
  loaded = false;
  forgets = false;
}

NameEntry* Directory::Insert(std::string_view name) {
  NameEntry* entry = NameEntry::Make(name);
  entries_.Insert(entry);
  if (ordered_) ordered_->insert({NameCursor(name), entry});
  return entry;
}

void Directory::Erase(NameEntry* entry) {
  if (ordered_) ordered_->erase(Placed{NameCursor(entry->name()), entry});
  entries_.Erase(entry);
  NameEntry::Destroy(entry);
}

void Directory::BuildOrder() {
  std::vector<Placed> all;
  all.reserve(entries_.size());
  for (NameEntry* entry : entries_) all.push_back({NameCursor(entry->name()), entry});
  std::sort(all.begin(), all.end(), ByPosition());
  ordered_ = std::make_unique<absl::btree_set<Placed, ByPosition>>();
  for (const Placed& placed : all) ordered_->insert(ordered_->end(), placed);
}

void Directory::SetBaseListing(std::vector<BaseEntry> names, const Timestamp& mtime) {
  base_names_.clear();
  base_names_.reserve(names.size());
  {
    absl::MutexLock lock(&noted_mu_);
    for (BaseEntry& name : names) {
      const uint64_t cursor = NameCursor(name.name);
      const auto noted = noted_.find(cursor);
      base_names_.push_back(
          {std::move(name), cursor, noted == noted_.end() ? NodeId() : noted->second});
    }
    noted_ = {};
  }
  std::sort(base_names_.begin(), base_names_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.cursor, a.name) < std::tie(b.cursor, b.name);
  });
  base_mtime_ = mtime;
  base_listed_ = true;
}

void Directory::DropBaseListing() {
  base_names_.clear();
  base_names_.shrink_to_fit();
  base_listed_ = false;
  absl::MutexLock lock(&noted_mu_);
  noted_ = {};
}

void Directory::NoteBaseNode(std::string_view name, NodeId node) {
  if (base_listed_) return;  // a listing asks
  absl::MutexLock lock(&noted_mu_);
  noted_.insert_or_assign(NameCursor(name), node);
}

std::vector<Directory::Item> Directory::ListAfter(uint64_t cursor, size_t limit) {
  if (!ordered_) BuildOrder();
  std::vector<Item> items;
  auto upper = ordered_->lower_bound(Position(cursor + 1, std::string_view()));
  auto base = std::upper_bound(base_names_.begin(), base_names_.end(), cursor,
                               [](uint64_t at, const auto& entry) { return at < entry.cursor; });
  while (upper != ordered_->end() || base != base_names_.end()) {
    const bool take_upper =
        upper != ordered_->end() &&
        (base == base_names_.end() || upper->position() <= Position(base->cursor, base->name));
    const uint64_t at = take_upper ? upper->cursor : base->cursor;
    // Never stop between two names of one cursor: the second would be lost.
    if (items.size() >= limit && items.back().cursor != at) break;
    if (take_upper) {
      NameEntry* entry = upper->entry;
      if (base != base_names_.end() && base->name == entry->name()) ++base;
      if (!entry->IsWhiteout()) items.push_back({at, entry, nullptr});
      ++upper;
    } else {
      items.push_back({at, nullptr, &*base});
      ++base;
    }
  }
  return items;
}

}  // namespace agentfs
