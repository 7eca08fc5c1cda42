// SPDX-License-Identifier: Apache-2.0
//
// Directory listings.
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "core/permissions.h"
#include "core/view.h"

namespace agentfs {
namespace {

// How many entries are taken out of a directory under its lock at a time.
constexpr size_t kBatch = 256;

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
    return stat.code() == ENOENT || stat.code() == ENOTDIR ? Ok() : Result<void>(stat.error());
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

Result<std::vector<View::Listed>> View::ListLocked(ViewNode& node, uint64_t cursor) {
  AGENTFS_TRY(LoadListingLocked(node, cursor == 0));
  std::vector<Listed> listed;
  for (const Directory::Item& item : node.directory()->ListAfter(cursor, kBatch)) {
    if (item.entry != nullptr) {
      const NameEntry& entry = *item.entry;
      listed.push_back(
          {std::string(entry.name()), entry.id, uint32_t{entry.type} << 12, item.cursor});
      continue;
    }
    const std::string path = JoinBasePath(node.base->path, item.base_entry->name);
    Result<BaseStat> stat = nodes_.volume().base->Stat(path);
    if (!stat.ok()) continue;  // removed meanwhile
    listed.push_back(
        {item.base_entry->name, BaseNodeId(stat->identity), stat->attr.mode & S_IFMT, item.cursor});
  }
  return listed;
}

Result<std::vector<View::Listed>> View::ListAfter(const Caller& caller, ViewNode& node,
                                                  uint64_t cursor) {
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(node, LockMode::kExclusive));
  if (cursor == 0) AGENTFS_TRY(CheckAccess(caller, node, R_OK));
  return ListLocked(node, cursor);
}

Result<void> View::ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                                 const DirVisitor& visit) {
  Operation operation(*this);
  while (true) {
    AGENTFS_ASSIGN(auto listed, ListAfter(caller, AsViewNode(node), cursor));
    if (listed.empty()) return Ok();
    for (const Listed& item : listed) {
      cursor = item.cursor;
      if (visit({item.name, item.node, item.type, item.cursor}) == Visit::kStop) return Ok();
    }
  }
}

Result<void> View::ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                     const DirAttrVisitor& visit) {
  while (true) {
    std::vector<Listed> listed;
    {
      Operation operation(*this);
      AGENTFS_ASSIGN(listed, ListAfter(caller, AsViewNode(node), cursor));
    }
    if (listed.empty()) return Ok();
    for (const Listed& item : listed) {
      cursor = item.cursor;
      Result<Found> found = Lookup(Caller{}, node, item.name);
      if (!found.ok()) {
        if (found.code() == ENOENT || found.code() == ESTALE) continue;  // removed meanwhile
        return found.error();
      }
      const DirEntry entry{item.name, found->attr.node, found->attr.mode & S_IFMT, item.cursor};
      if (visit(entry, *found) == Visit::kStop) return Ok();
    }
  }
}

}  // namespace agentfs
