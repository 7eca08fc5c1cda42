// SPDX-License-Identifier: Apache-2.0
//
// Directory listings.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "core/permissions.h"
#include "core/view.h"

namespace agentfs {
namespace {

// How many entries are taken out of a directory under its lock at a time.
constexpr size_t kFirstBatch = 32, kLargestBatch = 256;

}  // namespace

// The base's names, read again at the start of a listing if the base's directory has changed.
Result<void> View::LoadListingLocked(ViewNode& node, bool from_start) {
  Directory& directory = *node.directory();
  BaseFs* base = nodes_.volume().base.get();
  if (node.base == nullptr || base == nullptr) return Ok();
  if (directory.has_base_listing() && !from_start) return Ok();
  WatchBase(node);
  Result<BaseStat> stat = base->Stat(node.base->path);
  if (stat.ok() && !S_ISDIR(stat->attr.mode)) stat = Error(ENOTDIR);
  if (!stat.ok()) {
    directory.SetBaseListing({}, Timestamp());  // it has gone from the base
    return MeansAbsent(stat.code()) ? Ok() : Result<void>(stat.error());
  }
  // A second change within one tick of the base's clock would go unseen: list again while young.
  const Timestamp& mtime = stat->attr.mtime;
  if (directory.HasBaseListing(mtime) && !IsRecent(mtime)) return Ok();
  AGENTFS_ASSIGN(auto names, base->List(node.base->path));
  directory.SetBaseListing(std::move(names), mtime);
  return Ok();
}

Result<bool> View::IsEmptyLocked(ViewNode& node) {
  AGENTFS_TRY(nodes_.LoadDirectoryLocked(node));
  AGENTFS_TRY(LoadListingLocked(node, true));
  const bool empty = node.directory()->ListAfter(0, 1).empty();
  return empty;
}

// What the base knows of the listed names that only it has; ENOENT: removed meanwhile.
Result<std::vector<Result<BaseStat>>> View::StatListed(const ViewNode& node,
                                                       const std::vector<Directory::Item>& items) {
  std::vector<std::string_view> names;
  for (const Directory::Item& item : items) {
    if (item.entry == nullptr) names.push_back(item.base_entry->name);
  }
  if (names.empty()) return std::vector<Result<BaseStat>>();
  return nodes_.volume().base->StatNames(node.base->path, names);
}

Result<Found> View::FoundLocked(ViewNode& parent, std::string_view name, const Name& found) {
  AGENTFS_ASSIGN(NodeRef child, NodeOf(parent, name, found));
  if (found.entry != nullptr) found.entry->node = child;
  ViewNode& node = AsViewNode(*child);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
  AGENTFS_ASSIGN(Attr attr, nodes_.AttrLocked(node, found.base));
  return Found{std::move(child), attr};
}

Result<std::vector<View::Listed>> View::ListLocked(ViewNode& node, uint64_t cursor, size_t limit,
                                                   Detail detail) {
  AGENTFS_TRY(LoadListingLocked(node, cursor == 0));
  const std::vector<Directory::Item> items = node.directory()->ListAfter(cursor, limit);
  AGENTFS_ASSIGN(auto stats, StatListed(node, items));
  auto stat = stats.begin();
  std::vector<Listed> listed;
  listed.reserve(items.size());
  for (const Directory::Item& item : items) {
    Name name;
    Listed next{.cursor = item.cursor};
    if (item.entry != nullptr) {
      name.entry = item.entry;
      next.name = item.entry->name();
      next.node = item.entry->id;
    } else {
      next.name = item.base_entry->name;
      Result<BaseStat>& known = *stat++;
      if (known.ok()) {
        next.node = BaseNodeId(known->identity);
        name.base = std::move(*known);
      }
    }
    if (name.exists()) {
      next.type = name.type();
      if (detail == Detail::kAttributes) next.found = FoundLocked(node, next.name, name);
    } else {
      next.found = Error(ENOENT);
    }
    listed.push_back(std::move(next));
  }
  return listed;
}

Result<std::vector<View::Listed>> View::ListAfter(const Caller& caller, ViewNode& node,
                                                  uint64_t cursor, size_t limit, Detail detail) {
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(node, LockMode::kExclusive));
  if (cursor == 0) {
    AGENTFS_TRY(CheckAccess(caller, node, R_OK));
    io_.TouchAccessTimeLocked(node);
  }
  return ListLocked(node, cursor, limit, detail);
}

Result<void> View::ForEachListed(const Caller& caller, ViewNode& node, uint64_t cursor,
                                 Detail detail, const std::function<Visit(const Listed&)>& visit) {
  // A listing through a small buffer stops early: what it does not take must not cost much.
  for (size_t limit = kFirstBatch;; limit = std::min(2 * limit, kLargestBatch)) {
    std::vector<Listed> listed;
    {
      Operation operation(*this);
      AGENTFS_ASSIGN(listed, ListAfter(caller, node, cursor, limit, detail));
    }
    if (listed.empty()) return Ok();
    for (const Listed& item : listed) {
      cursor = item.cursor;
      if (!item.found.ok()) {
        if (item.found.code() == ENOENT || item.found.code() == ESTALE) continue;
        return item.found.error();
      }
      if (visit(item) == Visit::kStop) return Ok();
    }
  }
}

Result<void> View::ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                                 const DirVisitor& visit) {
  return ForEachListed(caller, AsViewNode(node), cursor, Detail::kNames, [&](const Listed& item) {
    return visit({item.name, item.node, item.type, item.cursor});
  });
}

Result<void> View::ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                     const DirAttrVisitor& visit) {
  return ForEachListed(
      caller, AsViewNode(node), cursor, Detail::kAttributes, [&](const Listed& item) {
        return visit({item.name, item.found->attr.node, item.type, item.cursor}, *item.found);
      });
}

}  // namespace agentfs
