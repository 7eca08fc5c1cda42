// SPDX-License-Identifier: Apache-2.0
//
// Names: looking up, making, linking, removing.
#include <unistd.h>

#include <utility>

#include "agentfs/directory_trail.h"
#include "agentfs/path.h"
#include "base/clock.h"
#include "core/acl.h"
#include "core/permissions.h"
#include "core/view.h"
#include "core/view_note.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr uint32_t kMaxLinks = 65000;
constexpr size_t kMaxTarget = 4095;
// Among more than these a node's name is not looked for later, but noted when it is come by.
constexpr size_t kManyNames = 64;

OpKind KindOfMaking(uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return OpKind::kCreate;
    case S_IFDIR:
      return OpKind::kMkdir;
    case S_IFLNK:
      return OpKind::kSymlink;
    default:
      return OpKind::kMknod;
  }
}

Result<void> CheckNewName(std::string_view name) {
  if (const int code = CheckName(name); code != 0) return Error(code);
  if (name == "." || name == "..") return Error(EEXIST);
  return Ok();
}

}  // namespace

View::View(VolumeState& volume, Layer* layer, ViewNodes::Access access)
    : nodes_(volume, layer, access), io_(nodes_), root_(nodes_.table().Get(kRootNode)) {}

View::~View() = default;

void View::WithoutOperations(const std::function<void()>& change) {
  operations_.Lock();
  change();
  operations_.Unlock();
}

Result<void> View::Admit(Growth growth, uint64_t bytes) {
  if (nodes_.read_only()) return Error(EROFS);
  return nodes_.journal().Admit(growth, bytes);
}

Result<NodeLock> View::LockDirectory(ViewNode& node, LockMode mode) {
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, mode));
  if (!node.IsDirectory()) return Error(ENOTDIR);
  if (node.directory() != nullptr && node.directory()->loaded) [[likely]]
    return lock;
  if (mode == LockMode::kExclusive) {
    AGENTFS_TRY(nodes_.LoadDirectoryLocked(node));
    return lock;
  }
  lock.Unlock();
  {
    AGENTFS_ASSIGN(NodeLock loading, NodeLock::Take(nodes_, node, LockMode::kExclusive));
    AGENTFS_TRY(nodes_.LoadDirectoryLocked(node));
  }
  return LockDirectory(node, mode);
}

// ---- looking up

Result<View::Name> View::FindName(ViewNode& parent, std::string_view name) {
  Name found;
  found.entry = parent.directory()->Find(name);
  if (found.entry != nullptr || parent.base == nullptr) return found;
  BaseFs* base = nodes_.volume().base.get();
  if (base == nullptr) return found;
  WatchBase(parent);
  found.stamp = nodes_.BaseStamp(parent);
  Result<BaseStat> stat = base->Stat(JoinBasePath(parent.base->path, name));
  if (stat.ok()) {
    found.base = std::move(*stat);
  } else if (!MeansAbsent(stat.code())) {
    return stat.error();
  }
  return found;
}

// The parent's lock is held, shared or exclusive; the reference is kept in the entry.
Result<NodeRef> View::NodeOf(ViewNode& parent, std::string_view name, const Name& found) {
  if (found.base) {
    return nodes_.GetBaseNode(JoinBasePath(parent.base->path, name), *found.base, parent.id(),
                              found.stamp);
  }
  // Its lock is held, and would be asked for.
  if (found.entry->node_id() == parent.id()) return DirectoryBelowItself(name);
  if (const Node* node = found.entry->node.get()) {
    // Its lines are needed together: one wait for memory instead of three.
    const char* bytes = reinterpret_cast<const char*>(node);
    for (size_t at = 0; at < 192; at += 64) __builtin_prefetch(bytes + at);
    return found.entry->node;
  }
  return nodes_.table().Get(found.entry->id);
}

Result<Found> View::Lookup(const Caller& caller, Node& parent_node, std::string_view name) {
  Operation operation(*this);
  ViewNode& parent = AsViewNode(parent_node);
  NodeRef child;
  std::optional<BaseStat> base;
  bool keep = false, many = false;
  {
    AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kShared));
    AGENTFS_TRY(CheckAccess(caller, parent, X_OK));
    if (name == "." || name == "..") {
      child = NodeRef(&parent);
    } else {
      if (const int code = CheckName(name); code != 0) return Error(code);
      AGENTFS_ASSIGN(Name found, FindName(parent, name));
      if (!found.exists()) return Error(ENOENT);
      AGENTFS_ASSIGN(child, NodeOf(parent, name, found));
      keep = found.entry != nullptr && !found.entry->node;
      many = found.entry != nullptr && parent.directory()->size() > kManyNames;
      if (found.entry == nullptr) parent.directory()->NoteBaseNode(name, child->id());
      base = std::move(found.base);
    }
  }
  if (name == "..") {
    AGENTFS_ASSIGN(child, nodes_.ParentOf(parent));
  }
  if (keep) {
    AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kExclusive));
    NameEntry* entry = parent.directory()->Find(name);
    if (entry != nullptr && entry->id == child->id()) entry->node = child;
  }
  ViewNode& node = AsViewNode(*child);
  if (many) NoteName(node, parent, name);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
  AGENTFS_ASSIGN(Attr attr, nodes_.AttrLocked(node, base));
  return Found{std::move(child), attr};
}

// ---- entries

void View::SetEntry(Journal::Change& change, ViewNode& parent, std::string_view name,
                    const Name& found, NodeRef child, uint32_t type) {
  const LayerId open = nodes_.open_layer();
  NameEntry* entry = found.entry;
  if (entry == nullptr) {
    entry = parent.directory()->Insert(name);
    entry->shadows = found.base.has_value() || parent.directory()->forgets;
    if (found.base) entry->SetSince(ToMilliseconds(Now()));
  } else if (entry->layer != open) {
    entry->shadows = true;
  }
  AsViewNode(*child).parent = parent.id();
  AsViewNode(*child).anchored = true;
  entry->id = child->id();
  entry->layer = open;
  entry->type = static_cast<uint8_t>(type >> 12);
  change.Put(tables::kEntries, EntryKey(parent.id(), name, open),
             EncodeEntry({entry->id, type, entry->since_ms()}));
  entry->node = std::move(child);
}

void View::RemoveEntry(Journal::Change& change, ViewNode& parent, std::string_view name,
                       const Name& found) {
  const LayerId open = nodes_.open_layer();
  NameEntry* entry = found.entry;
  if (entry != nullptr && entry->layer == open && !entry->shadows) {
    change.Delete(tables::kEntries, EntryKey(parent.id(), name, open));
    parent.directory()->Erase(entry);
    return;
  }
  if (entry == nullptr) {
    entry = parent.directory()->Insert(name);
    entry->SetSince(ToMilliseconds(Now()));
  }
  entry->node = NodeRef();
  entry->id = NodeId();
  entry->type = 0;
  entry->layer = open;
  entry->shadows = true;
  change.Put(tables::kEntries, EntryKey(parent.id(), name, open),
             EncodeEntry({NodeId(), 0, entry->since_ms()}));
}

void View::TouchDirectory(Journal::Change& change, ViewNode& directory, const Timestamp& now) {
  directory.mtime = directory.ctime = now;
  nodes_.PutNode(change, directory);
}

void View::DropLink(Journal::Change& change, ViewNode& node, const Timestamp& now) {
  node.ctime = now;
  node.nlink = node.IsDirectory() || node.nlink == 0 ? 0 : node.nlink - 1;
  if (node.nlink == 0) {
    nodes_.PutUnlinked(change, node);
  } else {
    nodes_.PutNode(change, node);
  }
}

// ---- making

Result<void> View::PrepareNew(const Caller& caller, ViewNode& parent) const {
  if (parent.nlink == 0) return Error(ENOENT);
  AGENTFS_TRY(CheckAccess(caller, parent, W_OK | X_OK));
  VolumeState& volume = const_cast<ViewNodes&>(nodes_).volume();
  const uint64_t limit = volume.options.limits.max_nodes;
  const LayerCounters& counters = nodes_.layer()->counters;
  const uint64_t nodes =
      static_cast<uint64_t>(counters.files.load(std::memory_order_relaxed) +
                            counters.directories.load(std::memory_order_relaxed));
  if (limit != 0 && nodes >= limit) return Error(EDQUOT);
  return Ok();
}

// In memory only, and locked: it can be found by its id from now on.
NodeRef View::MakeNodeLocked(const Caller& caller, const ViewNode& parent, NewNode what) {
  NodeRef ref = nodes_.table().Get(NodeId(nodes_.volume().nodes.Take()));
  ViewNode& node = AsViewNode(*ref);
  node.mu.Lock();
  const bool directory = S_ISDIR(what.mode);
  node.mode = what.mode;
  node.uid = caller.uid;
  node.gid = caller.gid;
  if ((parent.mode & S_ISGID) != 0) {
    node.gid = parent.gid;
    if (directory) {
      node.mode |= S_ISGID;
    } else if ((node.mode & S_IXGRP) != 0 && !MayKeepSetGid(caller, parent.gid)) {
      node.mode &= ~uint32_t{S_ISGID};
    }
  }
  node.nlink = directory ? 2 : 1;
  node.rdev = static_cast<uint32_t>(what.rdev);
  node.atime = node.mtime = node.ctime = node.btime = Now();
  node.xattrs.Set(std::move(what.xattrs));
  if (directory) {
    auto entries = std::make_unique<Directory>();
    entries->loaded = true;
    node.part = std::move(entries);
  } else if (S_ISLNK(what.mode)) {
    node.part = std::make_unique<std::string>(what.target);
    node.size = what.target.size();
  }
  node.state = ViewNode::State::kLoaded;
  return ref;
}

Result<void> View::Inherit(const Caller& caller, ViewNode& parent, NewNode& what) {
  if (S_ISLNK(what.mode)) return Ok();
  Result<std::string> list = XattrLocked(parent, kDefaultAcl);
  if (!list.ok()) {
    if (list.code() != ENODATA && list.code() != EOPNOTSUPP) return list.error();
    what.mode &= ~(caller.umask & 0777);
    return Ok();
  }
  AGENTFS_ASSIGN(Acl acl, Acl::Parse(*list));
  if (S_ISDIR(what.mode)) what.xattrs[std::string(kDefaultAcl)] = Buffer::Copy(*list);
  acl.Restrict(what.mode);
  what.mode = (what.mode & ~uint32_t{0777}) | acl.Mode();
  if (!acl.IsPlain()) what.xattrs[std::string(kAccessAcl)] = Buffer::Copy(acl.Encode());
  return Ok();
}

Result<Found> View::MakeNew(const Caller& caller, Node& parent_node, std::string_view name,
                            NewNode what) {
  Operation operation(*this);
  AGENTFS_TRY(CheckNewName(name));
  AGENTFS_TRY(Admit(Growth::kGrows));
  ViewNode& parent = AsViewNode(parent_node);
  Note note(*this, KindOfMaking(what.mode), caller, parent);
  Anchor anchor(*this, parent);
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kExclusive));
  AGENTFS_TRY(CheckAccess(caller, parent, X_OK));
  AGENTFS_ASSIGN(Name found, FindName(parent, name));
  if (found.exists()) return Error(EEXIST);
  AGENTFS_TRY(PrepareNew(caller, parent));
  AGENTFS_TRY(CheckMakeNode(caller, what.mode, what.rdev));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(parent));
  AGENTFS_TRY(Inherit(caller, parent, what));
  NodeRef ref = MakeNodeLocked(caller, parent, std::move(what));
  ViewNode& node = AsViewNode(*ref);
  NodeLock node_lock = NodeLock::Adopt(node);
  {
    Journal::Change change(nodes_.journal());
    SetEntry(change, parent, name, found, ref, node.type());
    nodes_.PutNode(change, node);
    if (node.IsDirectory() && parent.nlink >= 2) ++parent.nlink;
    TouchDirectory(change, parent, node.ctime);
    note.Made(change, node, parent, name);
  }
  NotifyName(ChangeEvent::Kind::kCreated, caller, node, parent, name);
  AGENTFS_ASSIGN(Attr attr, nodes_.AttrLocked(node));
  return Found{std::move(ref), attr};
}

Result<Found> View::Create(const Caller& caller, Node& parent, std::string_view name,
                           uint32_t mode) {
  return MakeNew(caller, parent, name, {S_IFREG | (mode & 07777)});
}

Result<Found> View::MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                                  uint32_t mode) {
  return MakeNew(caller, parent, name, {S_IFDIR | (mode & 01777)});
}

Result<Found> View::MakeNode(const Caller& caller, Node& parent, std::string_view name,
                             uint32_t mode, uint64_t rdev) {
  const uint32_t type = (mode & S_IFMT) == 0 ? S_IFREG : mode & S_IFMT;
  if (type == S_IFDIR) return Error(EPERM);
  const bool device = type == S_IFCHR || type == S_IFBLK;
  if (!device && type != S_IFREG && type != S_IFIFO && type != S_IFSOCK) return Error(EINVAL);
  return MakeNew(caller, parent, name, {type | (mode & 07777), device ? rdev : 0});
}

Result<Found> View::MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                                std::string_view target) {
  if (target.empty()) return Error(ENOENT);
  if (target.size() > kMaxTarget) return Error(ENAMETOOLONG);
  if (target.find('\0') != std::string_view::npos) return Error(EINVAL);
  return MakeNew(caller, parent, name, {S_IFLNK | 0777, 0, target});
}

Result<Found> View::CreateUnnamed(const Caller& caller, Node& parent_node, uint32_t mode) {
  Operation operation(*this);
  AGENTFS_TRY(Admit(Growth::kGrows));
  ViewNode& parent = AsViewNode(parent_node);
  Note note(*this, OpKind::kCreate, caller, parent);
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kExclusive));
  AGENTFS_TRY(PrepareNew(caller, parent));
  NewNode what{S_IFREG | (mode & 07777)};
  AGENTFS_TRY(Inherit(caller, parent, what));
  NodeRef ref = MakeNodeLocked(caller, parent, std::move(what));
  ViewNode& node = AsViewNode(*ref);
  NodeLock node_lock = NodeLock::Adopt(node);
  node.nlink = 0;
  node.linkable = true;
  node.orphan_layers = std::make_unique<std::vector<LayerId>>();
  {
    Journal::Change change(nodes_.journal());
    nodes_.PutNode(change, node);
    note.Done(change, node);
  }
  AGENTFS_ASSIGN(Attr attr, nodes_.AttrLocked(node));
  return Found{std::move(ref), attr};
}

Result<Attr> View::Link(const Caller& caller, Node& target, Node& parent_node,
                        std::string_view name) {
  Operation operation(*this);
  AGENTFS_TRY(CheckNewName(name));
  AGENTFS_TRY(Admit(Growth::kGrows));
  ViewNode& parent = AsViewNode(parent_node);
  ViewNode& node = AsViewNode(target);
  Note note(*this, OpKind::kLink, caller, parent);
  note.Also(node);
  Anchor parent_anchor(*this, parent), anchor(*this, node);
  bool is_directory = false;  // which must not be locked after `parent`: it may be above it
  {
    AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
    is_directory = node.IsDirectory();
  }
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kExclusive));
  AGENTFS_TRY(CheckAccess(caller, parent, X_OK));
  AGENTFS_ASSIGN(Name found, FindName(parent, name));
  if (found.exists()) return Error(EEXIST);
  if (parent.nlink == 0) return Error(ENOENT);
  AGENTFS_TRY(CheckAccess(caller, parent, W_OK | X_OK));
  if (is_directory) return Error(EPERM);
  AGENTFS_ASSIGN(NodeLock node_lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  const bool unnamed = node.nlink == 0 && node.linkable;
  if (node.nlink == 0 && !unnamed) return Error(ENOENT);
  if (node.nlink >= kMaxLinks) return Error(EMLINK);
  AGENTFS_TRY(nodes_.PrepareRecordLocked(parent));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
  {
    Journal::Change change(nodes_.journal());
    if (unnamed) nodes_.PutRelinked(change, node);
    ++node.nlink;
    node.ctime = Now();
    SetEntry(change, parent, name, found, NodeRef(&node), node.type());
    nodes_.PutNode(change, node);
    TouchDirectory(change, parent, node.ctime);
    note.Linked(change, node, parent, name);
  }
  NotifyName(ChangeEvent::Kind::kCreated, caller, node, parent, name);
  return nodes_.AttrLocked(node);
}

// ---- removing

Result<void> View::CheckRemove(const Caller& caller, ViewNode& parent, ViewNode& child,
                               bool directory) {
  AGENTFS_TRY(CheckAccess(caller, parent, W_OK | X_OK));
  AGENTFS_TRY(CheckSticky(caller, parent, child));
  if (!directory) {
    if (child.IsDirectory()) return Error(EISDIR);
    return Ok();
  }
  if (!child.IsDirectory()) return Error(ENOTDIR);
  if (child.id() == kRootNode) return Error(EBUSY);
  AGENTFS_ASSIGN(const bool empty, IsEmptyLocked(child));
  if (!empty) return Error(ENOTEMPTY);
  return Ok();
}

Result<void> View::RemoveName(const Caller& caller, Node& parent_node, std::string_view name,
                              bool directory) {
  Operation operation(*this);
  if (directory && name == ".") return Error(EINVAL);
  if (directory && name == "..") return Error(ENOTEMPTY);
  if (const int code = CheckName(name); code != 0) return Error(code);
  AGENTFS_TRY(Admit(Growth::kFrees));
  NodeRef ref;  // released after the locks
  ViewNode& parent = AsViewNode(parent_node);
  Note note(*this, directory ? OpKind::kRmdir : OpKind::kUnlink, caller, parent);
  Anchor anchor(*this, parent);
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kExclusive));
  AGENTFS_TRY(CheckAccess(caller, parent, X_OK));
  AGENTFS_ASSIGN(Name found, FindName(parent, name));
  if (!found.exists()) return Error(ENOENT);
  AGENTFS_ASSIGN(ref, NodeOf(parent, name, found));
  ViewNode& child = AsViewNode(*ref);
  AGENTFS_ASSIGN(NodeLock child_lock, NodeLock::Take(nodes_, child, LockMode::kExclusive));
  AGENTFS_TRY(CheckRemove(caller, parent, child, directory));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(parent));
  if (!directory && child.nlink > 1) AGENTFS_TRY(nodes_.PrepareRecordLocked(child));
  {
    Journal::Change change(nodes_.journal());
    const Timestamp now = Now();
    RemoveEntry(change, parent, name, found);
    if (directory && parent.nlink > 2) --parent.nlink;
    DropLink(change, child, now);
    TouchDirectory(change, parent, now);
    note.Removed(change, child, parent, name);
  }
  NotifyName(ChangeEvent::Kind::kRemoved, caller, child, parent, name);
  return Ok();
}

Result<void> View::Unlink(const Caller& caller, Node& parent, std::string_view name) {
  return RemoveName(caller, parent, name, false);
}

Result<void> View::RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) {
  return RemoveName(caller, parent, name, true);
}

}  // namespace agentfs
