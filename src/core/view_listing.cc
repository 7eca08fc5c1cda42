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
  if (directory.has_base_listing() && nodes_.IsFreshLocked(node, nodes_.FreshStamp())) return Ok();
  const uint64_t stamp = nodes_.BaseStamp(node);
  nodes_.volume().read_ahead.Listed(node.base->path, node.id().value & (kBaseNodeBit - 1));
  Result<BaseStat> stat = base->Stat(node.base->path);
  if (stat.ok() && !S_ISDIR(stat->attr.mode)) stat = Error(ENOTDIR);
  if (!stat.ok()) {
    directory.SetBaseListing({}, Timestamp());  // it has gone from the base
    return MeansAbsent(stat.code()) ? Ok() : Result<void>(stat.error());
  }
  // A second change within one tick of the base's clock would go unseen: list again while young.
  const Timestamp& mtime = stat->attr.mtime;
  if (!directory.HasBaseListing(mtime) || IsRecent(mtime)) {
    AGENTFS_ASSIGN(auto names, base->List(node.base->path));
    directory.SetBaseListing(std::move(names), mtime);
  }
  const bool same = node.id() == kRootNode || BaseNodeId(stat->identity) == node.id();
  if (same && !node.HasRecord()) nodes_.FillFromBase(node, node.base->path, *stat, stamp);
  node.base->stamp = same ? stamp : 0;
  return Ok();
}

Result<bool> View::IsEmptyLocked(ViewNode& node) {
  AGENTFS_TRY(nodes_.LoadDirectoryLocked(node));
  AGENTFS_TRY(LoadListingLocked(node, true));
  const bool empty = node.directory()->ListAfter(0, 1).empty();
  return empty;
}

// What the base would say of a name that only it has, if it was asked before and has not changed.
std::optional<Found> View::KnownLocked(const ViewNode& parent, const Directory::BaseName& name,
                                       uint64_t fresh) {
  NodeRef ref = name.node ? nodes_.table().Find(name.node) : NodeRef();
  if (!ref) return std::nullopt;
  ViewNode& node = AsViewNode(*ref);
  absl::ReaderMutexLock lock(&node.mu);
  if (node.HasRecord() || !nodes_.IsFreshLocked(node, fresh)) return std::nullopt;
  if (node.base->path != JoinBasePath(parent.base->path, name.name)) return std::nullopt;
  return Found{std::move(ref), nodes_.FreshAttrLocked(node)};
}

// What is known of the listed names that only the base has: from before, or by asking now.
Result<std::vector<View::FromBase>> View::AskListed(const ViewNode& node,
                                                    const std::vector<Directory::Item>& items) {
  const uint64_t fresh = nodes_.FreshStamp();
  std::vector<FromBase> known(items.size());
  std::vector<std::string_view> names;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].entry != nullptr) continue;
    if (fresh != 0) known[i].found = KnownLocked(node, *items[i].base_entry, fresh);
    if (!known[i].found) names.push_back(items[i].base_entry->name);
  }
  if (names.empty()) return known;
  const uint64_t stamp = nodes_.BaseStamp(node);
  AGENTFS_ASSIGN(auto stats, nodes_.volume().base->StatNames(node.base->path, names));
  auto stat = stats.begin();
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].entry != nullptr || known[i].found) continue;
    if (Result<BaseStat>& now = *stat++; now.ok())
      known[i].name = {nullptr, std::move(*now), stamp};
  }
  return known;
}

Result<Found> View::FoundLocked(ViewNode& parent, std::string_view name, const Name& found) {
  AGENTFS_ASSIGN(NodeRef child, NodeOf(parent, name, found));
  if (found.entry != nullptr) found.entry->node = child;
  ViewNode& node = AsViewNode(*child);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
  AGENTFS_ASSIGN(Attr attr, nodes_.AttrLocked(node, found.base));
  return Found{std::move(child), attr};
}

View::Listed View::ListBaseLocked(ViewNode& parent, Directory::BaseName& entry, FromBase known,
                                  Detail detail) {
  Listed listed{.name = entry.name, .cursor = entry.cursor};
  if (known.found) {
    listed.node = entry.node;
    listed.type = known.found->attr.mode & S_IFMT;
    listed.found = std::move(*known.found);
  } else if (known.name.base) {
    listed.node = entry.node = BaseNodeId(known.name.base->identity);
    listed.type = known.name.type();
    if (detail == Detail::kAttributes) listed.found = FoundLocked(parent, entry.name, known.name);
  } else {
    listed.found = Error(ENOENT);  // removed meanwhile
  }
  return listed;
}

Result<std::vector<View::Listed>> View::ListLocked(ViewNode& node, uint64_t cursor, size_t limit,
                                                   Detail detail) {
  AGENTFS_TRY(LoadListingLocked(node, cursor == 0));
  const std::vector<Directory::Item> items = node.directory()->ListAfter(cursor, limit);
  AGENTFS_ASSIGN(std::vector<FromBase> known, AskListed(node, items));
  std::vector<Listed> listed;
  listed.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    NameEntry* const entry = items[i].entry;
    if (entry == nullptr) {
      listed.push_back(ListBaseLocked(node, *items[i].base_entry, std::move(known[i]), detail));
      continue;
    }
    const Name name{entry, std::nullopt};
    Listed next{std::string(entry->name()), entry->id, name.type(), items[i].cursor};
    if (detail == Detail::kAttributes) next.found = FoundLocked(node, next.name, name);
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
