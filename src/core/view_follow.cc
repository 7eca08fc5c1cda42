// SPDX-License-Identifier: Apache-2.0
//
// Giving names back to the base: after its changes were applied there, or discarded.
#include <algorithm>
#include <utility>

#include "agentfs/path.h"
#include "base/clock.h"
#include "core/view.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr int kTypeShift = 12;  // of NameEntry::type

}  // namespace

Result<NodeRef> View::ParentDirectoryOf(std::string_view path) {
  NodeRef at = root_;
  for (std::string_view name : SplitPath(ParentPath(path))) {
    AGENTFS_ASSIGN(Found found, Lookup(Caller{}, *at, name));
    at = std::move(found.node);
  }
  return at;
}

void View::BaseMoved(NodeId id) {
  Operation operation(*this);
  const NodeRef ref = nodes_.table().Find(id);
  if (!ref) return;
  ViewNode& node = AsViewNode(*ref);
  absl::MutexLock lock(&node.mu);
  if (node.state != ViewNode::State::kLoaded || !node.HasRecord() || !node.base) return;
  FollowMove(nodes_.volume(), id, node.mode, node.base->signature, &node.base->path);
  node.base->stamp = 0;
  if (node.directory() != nullptr) node.directory()->DropBaseListing();
  if (node.layer != nodes_.open_layer()) return;
  const Result<BaseStat> stat = nodes_.volume().base->Stat(node.base->path);
  if (!stat.ok() || BaseNodeId(stat->identity) != id) return;
  Journal::Change change(nodes_.journal());
  SeeAnew(change, node, *stat);
}

Result<void> View::FollowBase(std::string_view path, FollowMode mode) {
  Result<NodeRef> parent = ParentDirectoryOf(path);
  if (parent.code() == ENOENT || parent.code() == ENOTDIR) return Ok();
  if (!parent.ok()) return parent.error();
  Operation operation(*this);
  AGENTFS_TRY(Admit(Growth::kFrees));
  ViewNode& directory = AsViewNode(**parent);
  Anchor anchor(*this, directory);
  Result<NodeLock> lock = LockDirectory(directory, LockMode::kExclusive);
  if (!lock.ok()) return lock.code() == ENOTDIR ? Ok() : Result<void>(lock.error());
  if (mode == FollowMode::kAccept) return AcceptLocked(directory, FileName(path));
  // A directory that the base does not have under this path has nothing to give its names back to.
  const std::string_view in_base = ParentPath(path).substr(1);
  if (directory.base == nullptr || directory.base->path != in_base) return Ok();
  return FollowLocked(directory, FileName(path), mode);
}

Result<void> View::FollowLocked(ViewNode& parent, std::string_view name, FollowMode mode) {
  NameEntry* entry = parent.directory()->Find(name);
  AGENTFS_TRY(nodes_.PrepareRecordLocked(parent));
  Result<BaseStat> stat = nodes_.volume().base->Stat(JoinBasePath(parent.base->path, name));
  const bool absent = !stat.ok() && MeansAbsent(stat.code());
  if (!stat.ok() && !absent) return stat.error();
  const NodeId of_base = absent ? NodeId() : BaseNodeId(stat->identity);
  if (entry != nullptr && mode == FollowMode::kUnlessNewer && IsGivenAnew(*entry, of_base)) {
    Journal::Change change(nodes_.journal());
    PutSince(change, parent, entry, uint32_t{entry->type} << kTypeShift, !absent);
    nodes_.PutNode(change, parent);
    return Ok();
  }
  if (entry != nullptr && !absent && mode == FollowMode::kUnlessUsed) {
    AGENTFS_ASSIGN(const bool elsewhere, IsElsewhere(*entry, of_base));
    if (elsewhere) return Ok();
  }
  if (entry != nullptr && entry->IsWhiteout()) {
    {
      Journal::Change change(nodes_.journal());
      ForgetEntry(change, parent, entry);
    }
    Notify({.kind = ChangeEvent::Kind::kBase, .parent = parent.id(), .name = name});
    return Ok();
  }
  if (absent) return Ok();
  return FollowNodeLocked(parent, name, entry, *stat, mode);
}

// Whether the name was given to something else, or taken away, after the branch's last snapshot. It
// stays so, a directory without what the base has there.
bool View::IsGivenAnew(const NameEntry& entry, NodeId of_base) const {
  return entry.layer == nodes_.open_layer() && entry.node_id() != of_base;
}

// Whether the branch has the base's node under another name, so that it would have two; or, where
// it has a file of its own instead, without a name, for those who use it.
Result<bool> View::IsElsewhere(const NameEntry& entry, NodeId of_base) {
  if (entry.id == of_base || !nodes_.volume().changed_base_nodes.Contains(of_base)) return false;
  const NodeRef ref = nodes_.table().Get(of_base);
  const ViewNode& node = AsViewNode(*ref);
  const Result<NodeLock> lock = NodeLock::Take(nodes_, AsViewNode(*ref), LockMode::kShared);
  if (lock.code() == ESTALE) return false;
  if (!lock.ok()) return lock.error();
  return node.HasRecord() && (node.nlink > 0 || !entry.IsWhiteout());
}

// Whether it was changed after the branch's last snapshot.
bool View::IsNewer(const ViewNode& node, const NameEntry* entry) const {
  const LayerId open = nodes_.open_layer();
  return node.layer == open || (entry != nullptr && entry->layer == open);
}

Result<void> View::FollowNodeLocked(ViewNode& parent, std::string_view name, NameEntry* entry,
                                    const BaseStat& stat, FollowMode mode) {
  NodeRef ref;  // released after the lock
  const Name found{entry, entry == nullptr ? std::optional<BaseStat>(stat) : std::nullopt};
  AGENTFS_ASSIGN(ref, NodeOf(parent, name, found));
  ViewNode& node = AsViewNode(*ref);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  if (node.type() != (stat.attr.mode & S_IFMT)) return Ok();
  const bool of_base = BaseNodeId(stat.identity) == node.id();
  if (!node.HasRecord()) {
    // It was forgotten with another of its names.
    if (entry == nullptr || !of_base) return Ok();
    Journal::Change change(nodes_.journal());
    ForgetEntry(change, parent, entry);
    return Ok();
  }
  // Further names of a file of the base need its record.
  if (!node.IsDirectory() && of_base && node.nlink > stat.attr.nlink) return Ok();
  // Besides us, each of its names may hold it.
  const uint32_t idle = 1 + std::max(node.nlink, entry != nullptr && entry->node ? 1u : 0u);
  const bool in_use = node.users() > idle && !of_base;
  const bool newer = mode == FollowMode::kUnlessNewer && IsNewer(node, entry);
  AGENTFS_TRY(nodes_.LoadXattrsLocked(node));
  {
    Journal::Change change(nodes_.journal());
    if (node.IsDirectory()) {
      FollowDirectory(change, node, JoinBasePath(parent.base->path, name), stat, mode);
      PutSince(change, parent, entry, node.type());
    } else if (in_use || newer) {
      PutSince(change, parent, entry, node.type());
      if (of_base) SeeAnew(change, node, stat);
    } else {
      ForgetNode(change, node, JoinBasePath(parent.base->path, name), of_base ? &stat : nullptr);
      if (entry != nullptr) ForgetEntry(change, parent, entry);
    }
    nodes_.PutNode(change, parent);
  }
  Notify(
      {.kind = ChangeEvent::Kind::kBase, .node = ref->id(), .parent = parent.id(), .name = name});
  return Ok();
}

// That its attributes were set in the base is no change that it has not seen.
void View::SeeAnew(Journal::Change& change, ViewNode& node, const BaseStat& stat) {
  if (node.base == nullptr) return;
  BaseSignature& seen = node.base->signature;
  if (seen.size != stat.signature.size || seen.mtime != stat.signature.mtime) return;
  seen = stat.signature;
  nodes_.PutNode(change, node);
}

// It keeps its entries; beneath them are the base's from now on.
void View::FollowDirectory(Journal::Change& change, ViewNode& node, std::string path,
                           const BaseStat& stat, FollowMode mode) {
  node.base = std::make_unique<BaseLink>(BaseLink{std::move(path), stat.signature});
  if (node.directory() != nullptr) node.directory()->DropBaseListing();
  if (mode == FollowMode::kUnlessUsed) {
    node.mode = stat.attr.mode;
    node.uid = stat.attr.uid;
    node.gid = stat.attr.gid;
    node.mtime = stat.attr.mtime;
  }
  nodes_.PutNode(change, node);
}

Result<void> View::AcceptLocked(ViewNode& parent, std::string_view name) {
  NameEntry* const entry = parent.directory()->Find(name);
  if (entry == nullptr) return Ok();
  AGENTFS_TRY(nodes_.PrepareRecordLocked(parent));
  if (entry->IsWhiteout()) {
    Journal::Change change(nodes_.journal());
    PutSince(change, parent, entry, 0);
    nodes_.PutNode(change, parent);
    return Ok();
  }
  NodeRef ref;  // released after the lock
  AGENTFS_ASSIGN(ref, NodeOf(parent, name, Name{entry, std::nullopt}));
  ViewNode& node = AsViewNode(*ref);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  std::optional<BaseStat> stat;
  if (node.HasRecord() && node.base != nullptr) {
    Result<BaseStat> now = nodes_.volume().base->Stat(node.base->path);
    if (now.ok() && BaseNodeId(now->identity) == node.id()) stat = std::move(*now);
  }
  const bool taken = parent.base != nullptr &&
                     nodes_.volume().base->Stat(JoinBasePath(parent.base->path, name)).ok();
  Journal::Change change(nodes_.journal());
  if (entry->since_ms() != 0) PutSince(change, parent, entry, node.type(), taken);
  if (stat) node.base->signature = stat->signature;
  if (node.HasRecord()) nodes_.PutNode(change, node);
  nodes_.PutNode(change, parent);
  return Ok();
}

// The file stays what it is, from now on over what the base has now.
void View::PutSince(Journal::Change& change, ViewNode& parent, NameEntry* entry, uint32_t type,
                    bool taken) {
  if (entry == nullptr) return;
  const LayerId open = nodes_.open_layer();
  entry->SetSince(taken ? ToMilliseconds(Now()) : 0);
  entry->shadows = true;
  entry->layer = open;
  change.Put(tables::kEntries, EntryKey(parent.id(), entry->name(), open),
             EncodeEntry({entry->id, type, entry->since_ms()}));
}

void View::ForgetNode(Journal::Change& change, ViewNode& node, std::string path,
                      const BaseStat* stat) {
  if (node.nlink > 1 && stat == nullptr) {
    --node.nlink;  // its other names are given back by themselves, or stay
    nodes_.PutNode(change, node);
    return;
  }
  nodes_.PutForgotten(change, node);
  if (stat != nullptr) nodes_.FillFromBase(node, std::move(path), *stat);
}

void View::ForgetEntry(Journal::Change& change, ViewNode& parent, NameEntry* entry) {
  const LayerId open = nodes_.open_layer();
  change.Put(tables::kEntries, EntryKey(parent.id(), entry->name(), open),
             EncodeEntry({NodeId(), EntryRecord::kForgotten, 0}));
  parent.directory()->forgets = true;
  parent.directory()->Erase(entry);
  nodes_.PutNode(change, parent);
}

}  // namespace agentfs
