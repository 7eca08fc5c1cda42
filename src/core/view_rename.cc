// SPDX-License-Identifier: Apache-2.0
//
// Renaming. Locks: rename_mu_ if two directories take part; then the directories, an ancestor
// before its descendant, else by id; then what is renamed: a directory before a file, else by id.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agentfs/directory_trail.h"
#include "agentfs/path.h"
#include "base/clock.h"
#include "core/permissions.h"
#include "core/view.h"
#include "core/view_note.h"

namespace agentfs {
namespace {

Result<void> CheckRenameName(std::string_view name) {
  if (name == "." || name == "..") return Error(EBUSY);
  if (const int code = CheckName(name); code != 0) return Error(code);
  return Ok();
}

bool Replaces(RenameMode mode) {
  return mode != RenameMode::kNoReplace && mode != RenameMode::kNoReplaceWhiteout;
}

bool LeavesWhiteout(RenameMode mode) {
  return mode == RenameMode::kWhiteout || mode == RenameMode::kNoReplaceWhiteout;
}

bool Contains(const std::vector<NodeId>& ids, NodeId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

Result<std::vector<NodeId>> View::AncestorsOf(ViewNode& node) {
  std::vector<NodeId> ids;
  DirectoryTrail trail;
  NodeRef at(&node);
  while (true) {
    AGENTFS_TRY(trail.Enter(at->id(), "node " + std::to_string(at->id().value)));
    ids.push_back(at->id());
    if (at->id() == kRootNode) return ids;
    AGENTFS_ASSIGN(at, nodes_.ParentOf(AsViewNode(*at)));
  }
}

Result<void> View::Rename(const Caller& caller, Node& parent_node, std::string_view name,
                          Node& new_parent_node, std::string_view new_name, RenameMode mode) {
  Operation operation(*this);
  AGENTFS_TRY(CheckRenameName(name));
  AGENTFS_TRY(CheckRenameName(new_name));
  AGENTFS_TRY(Admit(Growth::kGrows));
  RenameSide from{AsViewNode(parent_node), name};
  RenameSide to{AsViewNode(new_parent_node), new_name};
  Note note(*this, OpKind::kRename, caller, from.parent);
  note.Also(to.parent);
  Anchor from_anchor(*this, from.parent), to_anchor(*this, to.parent);
  if (&from.parent == &to.parent) {
    AGENTFS_ASSIGN(NodeLock lock, LockDirectory(from.parent, LockMode::kExclusive));
    return RenameLocked(caller, from, to, mode, note);
  }
  absl::MutexLock renames(&rename_mu_);
  AGENTFS_ASSIGN(from.ancestors, AncestorsOf(from.parent));
  AGENTFS_ASSIGN(to.ancestors, AncestorsOf(to.parent));
  const bool from_first =
      Contains(to.ancestors, from.parent.id()) ||
      (!Contains(from.ancestors, to.parent.id()) && from.parent.id() < to.parent.id());
  ViewNode& first = from_first ? from.parent : to.parent;
  ViewNode& second = from_first ? to.parent : from.parent;
  AGENTFS_ASSIGN(NodeLock first_lock, LockDirectory(first, LockMode::kExclusive));
  AGENTFS_ASSIGN(NodeLock second_lock, LockDirectory(second, LockMode::kExclusive));
  return RenameLocked(caller, from, to, mode, note);
}

// The node that a side names. It may be the other side's directory, whose lock is held.
Result<NodeRef> View::NodeOfSide(const RenameSide& side, ViewNode& other_parent) {
  if (side.found.base && BaseNodeId(side.found.base->identity) == other_parent.id()) {
    return NodeRef(&other_parent);
  }
  return NodeOf(side.parent, side.name, side.found);
}

Result<void> View::RenameLocked(const Caller& caller, RenameSide& from, RenameSide& to,
                                RenameMode mode, Note& note) {
  AGENTFS_TRY(CheckAccess(caller, from.parent, X_OK));
  AGENTFS_TRY(CheckAccess(caller, to.parent, X_OK));
  AGENTFS_ASSIGN(from.found, FindName(from.parent, from.name));
  if (!from.found.exists()) return Error(ENOENT);
  AGENTFS_ASSIGN(to.found, FindName(to.parent, to.name));
  if (!Replaces(mode) && to.found.exists()) return Error(EEXIST);
  if (mode == RenameMode::kExchange && !to.found.exists()) return Error(ENOENT);
  AGENTFS_ASSIGN(from.node, NodeOfSide(from, to.parent));
  if (to.found.exists()) {
    AGENTFS_ASSIGN(to.node, NodeOfSide(to, from.parent));
  }
  if (Contains(to.ancestors, from.node->id())) return Error(EINVAL);
  if (to.node && Contains(from.ancestors, to.node->id())) {
    return Error(mode == RenameMode::kExchange ? EINVAL : ENOTEMPTY);
  }
  if (to.node == from.node) return Ok();  // two names of one file: nothing happens

  ViewNode* first = &AsViewNode(*from.node);
  ViewNode* second = to.node ? &AsViewNode(*to.node) : nullptr;
  if (second != nullptr) {
    const bool from_directory = from.found.type() == S_IFDIR;
    const bool to_directory = to.found.type() == S_IFDIR;
    const bool to_first =
        from_directory != to_directory ? to_directory : second->id() < first->id();
    if (to_first) std::swap(first, second);
  }
  AGENTFS_ASSIGN(NodeLock first_lock, NodeLock::Take(nodes_, *first, LockMode::kExclusive));
  std::optional<NodeLock> second_lock;
  if (second != nullptr) {
    AGENTFS_ASSIGN(NodeLock taken, NodeLock::Take(nodes_, *second, LockMode::kExclusive));
    second_lock.emplace(std::move(taken));
  }
  AGENTFS_TRY(CheckRename(caller, from, to, mode));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(from.parent));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(to.parent));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(AsViewNode(*from.node)));
  if (mode == RenameMode::kExchange) {
    AGENTFS_TRY(nodes_.PrepareRecordLocked(AsViewNode(*to.node)));
    Exchange(from, to, note);
    NotifyRename(ChangeEvent::Kind::kExchanged, caller, from, to);
    return Ok();
  }
  if (to.node && AsViewNode(*to.node).nlink > 1 && !AsViewNode(*to.node).IsDirectory()) {
    AGENTFS_TRY(nodes_.PrepareRecordLocked(AsViewNode(*to.node)));
  }
  AGENTFS_ASSIGN(const Buffer original, OriginalOf(to));
  if (LeavesWhiteout(mode)) return ReplaceWithWhiteout(caller, from, to, original, note);
  Replace(from, to, original, note);
  NotifyRename(ChangeEvent::Kind::kRenamed, caller, from, to);
  return Ok();
}

Result<void> View::ReplaceWithWhiteout(const Caller& caller, RenameSide& from, const RenameSide& to,
                                       const Buffer& original, Note& note) {
  AGENTFS_TRY(PrepareNew(caller, from.parent));
  from.whiteout = MakeNodeLocked(caller, from.parent, {S_IFCHR});
  ViewNode& whiteout = AsViewNode(*from.whiteout);
  NodeLock lock = NodeLock::Adopt(whiteout);
  Replace(from, to, original, note);
  NotifyRename(ChangeEvent::Kind::kRenamed, caller, from, to);
  NotifyName(ChangeEvent::Kind::kCreated, caller, whiteout, from.parent, from.name);
  return Ok();
}

void View::NotifyRename(ChangeEvent::Kind kind, const Caller& caller, const RenameSide& from,
                        const RenameSide& to) const {
  Notify({.kind = kind,
          .origin = caller.origin,
          .node = from.node->id(),
          .parent = from.parent.id(),
          .name = from.name,
          .new_parent = to.parent.id(),
          .new_name = to.name,
          .replaced = to.node ? to.node->id() : NodeId()});
}

// In the order in which Linux looks.
Result<void> View::CheckRename(const Caller& caller, const RenameSide& from, const RenameSide& to,
                               RenameMode mode) {
  const ViewNode& node = AsViewNode(*from.node);
  ViewNode* victim = to.node ? &AsViewNode(*to.node) : nullptr;
  const bool exchange = mode == RenameMode::kExchange;
  AGENTFS_TRY(CheckAccess(caller, from.parent, W_OK | X_OK));
  AGENTFS_TRY(CheckSticky(caller, from.parent, node));
  if (to.parent.nlink == 0) return Error(ENOENT);
  AGENTFS_TRY(CheckAccess(caller, to.parent, W_OK | X_OK));
  if (victim != nullptr) {
    AGENTFS_TRY(CheckSticky(caller, to.parent, *victim));
    if (!exchange && node.IsDirectory() && !victim->IsDirectory()) return Error(ENOTDIR);
    if (!exchange && !node.IsDirectory() && victim->IsDirectory()) return Error(EISDIR);
  }
  if (&from.parent != &to.parent) {  // moving a directory rewrites its ".."
    if (node.IsDirectory()) AGENTFS_TRY(CheckAccess(caller, node, W_OK));
    if (exchange && victim->IsDirectory()) AGENTFS_TRY(CheckAccess(caller, *victim, W_OK));
  }
  if (!exchange && victim != nullptr && victim->IsDirectory()) {
    AGENTFS_ASSIGN(const bool empty, IsEmptyLocked(*victim));
    if (!empty) return Error(ENOTEMPTY);
  }
  return Ok();
}

void View::Exchange(const RenameSide& from, const RenameSide& to, Note& note) {
  Journal::Change change(nodes_.journal());
  const Timestamp now = Now();
  ViewNode& a = AsViewNode(*from.node);
  ViewNode& b = AsViewNode(*to.node);
  SetEntry(change, from.parent, from.name, from.found, to.node, b.type());
  SetEntry(change, to.parent, to.name, to.found, from.node, a.type());
  a.ctime = b.ctime = now;
  nodes_.PutNode(change, a);
  nodes_.PutNode(change, b);
  if (a.IsDirectory() != b.IsDirectory()) {
    ViewNode& loses = a.IsDirectory() ? from.parent : to.parent;
    ViewNode& gains = a.IsDirectory() ? to.parent : from.parent;
    if (loses.nlink > 2) --loses.nlink;
    if (gains.nlink >= 2) ++gains.nlink;
  }
  TouchDirectory(change, from.parent, now);
  TouchDirectory(change, to.parent, now);
  note.Renamed(change, a, {from.parent, from.name}, {to.parent, to.name});
  note.Renamed(change, b, {to.parent, to.name}, {from.parent, from.name});
}

// What the base had where a file is about to be put: from the base, or from who replaced it first.
Result<Buffer> View::OriginalOf(const RenameSide& side) {
  if (!side.node || !AsViewNode(*side.node).IsRegular()) return Buffer();
  ViewNode& victim = AsViewNode(*side.node);
  if (victim.HasRecord() && victim.kind != ContentKind::kBase) return nodes_.OriginalLocked(victim);
  if (victim.base == nullptr) return Buffer();
  return nodes_.ReadOriginal(victim.base->path);
}

void View::Replace(const RenameSide& from, const RenameSide& to, const Buffer& original,
                   Note& note) {
  Journal::Change change(nodes_.journal());
  const Timestamp now = Now();
  ViewNode& node = AsViewNode(*from.node);
  // The new name first: taking out the old one may free its entry.
  SetEntry(change, to.parent, to.name, to.found, from.node, node.type());
  if (from.whiteout) {
    SetEntry(change, from.parent, from.name, from.found, from.whiteout, S_IFCHR);
    nodes_.PutNode(change, AsViewNode(*from.whiteout));
  } else {
    RemoveEntry(change, from.parent, from.name, from.found);
  }
  node.ctime = now;
  nodes_.PutNode(change, node);
  if (node.IsRegular()) nodes_.PutOriginal(change, node, original);
  if (node.IsDirectory()) {
    if (from.parent.nlink > 2) --from.parent.nlink;
    if (to.parent.nlink >= 2) ++to.parent.nlink;
  }
  if (to.node) {
    ViewNode& victim = AsViewNode(*to.node);
    if (victim.IsDirectory() && to.parent.nlink > 2) --to.parent.nlink;
    DropLink(change, victim, now);
  }
  TouchDirectory(change, from.parent, now);
  TouchDirectory(change, to.parent, now);
  note.Renamed(change, node, {from.parent, from.name}, {to.parent, to.name},
               to.node ? &AsViewNode(*to.node) : nullptr);
  if (from.whiteout) {
    note.Made(change, AsViewNode(*from.whiteout), from.parent, from.name, OpKind::kMknod);
  }
}

}  // namespace agentfs
