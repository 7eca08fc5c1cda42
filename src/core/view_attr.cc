// SPDX-License-Identifier: Apache-2.0
//
// Attributes, extended attributes, link targets.
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "core/acl.h"
#include "core/originals.h"
#include "core/permissions.h"
#include "core/view.h"
#include "core/view_note.h"

namespace agentfs {
namespace {

constexpr size_t kMaxXattrValue = 65536;

}  // namespace

Result<Attr> View::GetAttr(Node& base_node) {
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
  return nodes_.AttrLocked(node);
}

Result<void> View::Access(const Caller& caller, Node& base_node, int mask) {
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
  const bool plain = node.IsRegular() || node.IsDirectory() || node.type() == S_IFLNK;
  if ((mask & W_OK) != 0 && nodes_.read_only() && plain) return Error(EROFS);
  return CheckAccess(caller, node, mask);
}

Result<std::string> View::ReadLink(const Caller&, Node& base_node) {
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
  if (node.type() != S_IFLNK) return Error(EINVAL);
  if (node.target() == nullptr) return nodes_.volume().base->ReadLink(node.base->path);
  std::string target = *node.target();
  if (!io_.WantsAccessTime(node)) return target;
  lock.Unlock();
  io_.TouchAccessTime(node);
  return target;
}

// ---- setattr

Result<void> View::CheckSetAttr(const Caller& caller, ViewNode& node, const AttrChange& change) {
  if (change.size) {
    if (node.IsDirectory()) return Error(EISDIR);
    if (!node.IsRegular()) return Error(EINVAL);
    if (*change.size > kMaxFileSize) return Error(EINVAL);
  }
  if (change.uid || change.gid) AGENTFS_TRY(CheckChown(caller, node, change));
  if (change.mode) {
    if (!IsOwner(caller, node)) return Error(EPERM);
    if (node.type() == S_IFLNK) return Error(EOPNOTSUPP);
  }
  return CheckTimes(caller, node, change);
}

// The node's fields; the size is not among them. ctime is set by the caller.
void View::ApplyAttr(const Caller& caller, ViewNode& node, const AttrChange& change) {
  const Timestamp now = Now();
  // A change of owner takes set-id bits away also from root's files; one of size not.
  const bool owner = (change.uid || change.gid) && !node.IsDirectory() && !change.mode;
  const bool size = change.size && caller.ClearsSetId();
  const bool asked = change.clear_set_id && !node.IsDirectory();
  if (owner || size || asked) ClearSetIdBits(caller, node);
  if (change.uid) node.uid = *change.uid;
  if (change.gid) node.gid = *change.gid;
  if (change.mode) node.mode = ModeAfterChmod(caller, node, *change.mode);
  if (change.atime) node.atime = *change.atime;
  if (change.mtime) node.mtime = *change.mtime;
  if (change.atime_now) node.atime = now;
  if (change.mtime_now) node.mtime = now;
  node.ctime = now;
}

Result<std::optional<Buffer>> View::AclAfterChmod(ViewNode& node, const AttrChange& change) {
  if (!change.mode) return std::optional<Buffer>();
  AGENTFS_TRY(nodes_.LoadXattrsLocked(node));
  const auto it = node.xattrs.get().find(kAccessAcl);
  if (it == node.xattrs.get().end()) return std::optional<Buffer>();
  AGENTFS_ASSIGN(Acl acl, Acl::Parse(it->second.view()));
  acl.SetMode(*change.mode);
  return std::optional<Buffer>(Buffer::Copy(acl.Encode()));
}

Result<Attr> View::SetAttr(const Caller& caller, Node& base_node, const AttrChange& change) {
  Operation operation(*this);
  const bool frees = change.size && *change.size == 0;
  AGENTFS_TRY(Admit(frees ? Growth::kFrees : Growth::kGrows));
  ViewNode& node = AsViewNode(base_node);
  Note note(*this, change.size ? OpKind::kTruncate : OpKind::kSetattr, caller, node);
  if (change.size) note.Attach(node, *change.size);
  Anchor anchor(*this, node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  AGENTFS_TRY(CheckSetAttr(caller, node, change));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
  if (change.size) {
    AGENTFS_TRY(io_.SetSizeLocked(node, *change.size, [&] {
      const Timestamp now = Now();
      node.mtime = now;
      ApplyAttr(caller, node, change);
    }));
  } else {
    AGENTFS_ASSIGN(const std::optional<Buffer> acl, AclAfterChmod(node, change));
    Journal::Change journal_change(nodes_.journal());
    ApplyAttr(caller, node, change);
    nodes_.PutNode(journal_change, node);
    if (acl) PutXattrLocked(journal_change, node, kAccessAcl, &*acl);
    note.Done(journal_change, node);
  }
  NotifyNode(change.size ? ChangeEvent::Kind::kContent : ChangeEvent::Kind::kAttributes, caller,
             node);
  return nodes_.AttrLocked(node);
}

// ---- extended attributes

Result<std::string> View::GetXattr(const Caller& caller, Node& base_node, std::string_view name) {
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  if (name == kOriginalXattr) {
    AGENTFS_TRY(CheckAccess(caller, node, R_OK));
    AGENTFS_ASSIGN(const Buffer original, nodes_.OriginalLocked(node));
    if (!original) return Error(ENODATA);
    return std::string(original.view());
  }
  AGENTFS_TRY(CheckXattr(caller, node, name, false));
  return XattrLocked(node, name);
}

Result<std::string> View::XattrLocked(ViewNode& node, std::string_view name) {
  if (!node.HasRecord() && !node.xattrs.loaded()) {
    return nodes_.volume().base->GetXattr(node.base->path, name);
  }
  AGENTFS_TRY(nodes_.LoadXattrsLocked(node));
  auto it = node.xattrs.get().find(name);
  if (it == node.xattrs.get().end()) return Error(ENODATA);
  return std::string(it->second.view());
}

Result<std::vector<std::string>> View::ListXattrs(const Caller& caller, Node& base_node) {
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  std::vector<std::string> names;
  if (!node.HasRecord()) {
    AGENTFS_ASSIGN(names, nodes_.volume().base->ListXattrs(node.base->path));
  } else {
    AGENTFS_TRY(nodes_.LoadXattrsLocked(node));
    for (const auto& [name, value] : node.xattrs.get()) names.push_back(name);
  }
  if (caller.uid != 0) {
    std::erase_if(names, [](const std::string& name) { return name.starts_with("trusted."); });
  }
  return names;
}

Result<void> View::SetXattr(const Caller& caller, Node& base_node, std::string_view name,
                            std::string_view value, XattrMode mode) {
  Operation operation(*this);
  AGENTFS_TRY(Admit(Growth::kGrows));
  ViewNode& node = AsViewNode(base_node);
  Note note(*this, OpKind::kSetxattr, caller, node);
  Anchor anchor(*this, node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  AGENTFS_TRY(CheckXattr(caller, node, name, true));
  if (value.size() > kMaxXattrValue) return Error(E2BIG);
  AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
  AGENTFS_TRY(nodes_.LoadXattrsLocked(node));
  if (IsAcl(name)) return SetAcl(caller, node, name, value, note);
  const bool exists = node.xattrs.get().contains(name);
  if (mode == XattrMode::kCreate && exists) return Error(EEXIST);
  if (mode == XattrMode::kReplace && !exists) return Error(ENODATA);
  const Buffer bytes = Buffer::Copy(value);
  {
    Journal::Change change(nodes_.journal());
    node.ctime = Now();
    nodes_.PutNode(change, node);
    PutXattrLocked(change, node, name, &bytes);
    note.Done(change, node);
  }
  NotifyNode(ChangeEvent::Kind::kAttributes, caller, node);
  return Ok();
}

void View::PutXattrLocked(Journal::Change& change, ViewNode& node, std::string_view name,
                          const Buffer* value) {
  XattrMap& xattrs = node.xattrs.edit();
  const auto it = xattrs.find(name);
  if (value == nullptr && it == xattrs.end()) return;
  nodes_.PutXattr(change, node, name, value);
  if (value == nullptr) {
    xattrs.erase(it);
  } else {
    xattrs.insert_or_assign(std::string(name), *value);
  }
}

// The mode bits follow the access list, and a list that says no more than they is not kept.
Result<void> View::SetAcl(const Caller& caller, ViewNode& node, std::string_view name,
                          std::string_view value, Note& note) {
  if (node.type() == S_IFLNK) return Error(EOPNOTSUPP);
  AGENTFS_ASSIGN(const Acl acl, Acl::Parse(value));
  if (name == kDefaultAcl && !node.IsDirectory()) {
    if (acl.empty()) return Ok();
    return Error(EACCES);
  }
  const bool access = name == kAccessAcl && !acl.empty();
  const bool kept = !acl.empty() && !(access && acl.IsPlain());
  const Buffer bytes = Buffer::Copy(value);
  {
    Journal::Change change(nodes_.journal());
    node.ctime = Now();
    if (access) {
      node.mode = (node.mode & ~uint32_t{0777}) | acl.Mode();
      if (!MayKeepSetGid(caller, node.gid)) node.mode &= ~uint32_t{S_ISGID};
    }
    nodes_.PutNode(change, node);
    PutXattrLocked(change, node, name, kept ? &bytes : nullptr);
    note.Done(change, node);
  }
  NotifyNode(ChangeEvent::Kind::kAttributes, caller, node);
  return Ok();
}

Result<void> View::RemoveXattr(const Caller& caller, Node& base_node, std::string_view name) {
  Operation operation(*this);
  AGENTFS_TRY(Admit(Growth::kFrees));
  ViewNode& node = AsViewNode(base_node);
  Note note(*this, OpKind::kRemovexattr, caller, node);
  Anchor anchor(*this, node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  AGENTFS_TRY(CheckXattr(caller, node, name, true));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
  AGENTFS_TRY(nodes_.LoadXattrsLocked(node));
  if (!node.xattrs.get().contains(name)) {
    if (IsAcl(name)) return Ok();
    return Error(ENODATA);
  }
  {
    Journal::Change change(nodes_.journal());
    node.ctime = Now();
    nodes_.PutNode(change, node);
    PutXattrLocked(change, node, name, nullptr);
    note.Done(change, node);
  }
  NotifyNode(ChangeEvent::Kind::kAttributes, caller, node);
  return Ok();
}

}  // namespace agentfs
