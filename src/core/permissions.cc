// SPDX-License-Identifier: Apache-2.0
#include "core/permissions.h"

#include <unistd.h>

namespace agentfs {

Result<void> CheckAccess(const Caller& caller, const ViewNode& node, int mask) {
  if (mask == 0 || caller.checked) return Ok();
  if (caller.uid == 0) {
    // Root executes only what somebody may execute.
    const bool needs_execute = (mask & X_OK) != 0 && !node.IsDirectory();
    if (needs_execute && (node.mode & 0111) == 0) return Error(EACCES);
    return Ok();
  }
  uint32_t bits = node.mode;
  if (caller.uid == node.uid) {
    bits >>= 6;
  } else if (caller.InGroup(node.gid)) {
    bits >>= 3;
  }
  if ((static_cast<uint32_t>(mask) & ~(bits & 7)) != 0) return Error(EACCES);
  return Ok();
}

Result<void> CheckSticky(const Caller& caller, const ViewNode& directory, const ViewNode& child) {
  if ((directory.mode & S_ISVTX) == 0) return Ok();
  if (IsOwner(caller, directory) || IsOwner(caller, child)) return Ok();
  return Error(EPERM);
}

Result<void> CheckMakeNode(const Caller& caller, uint32_t mode, uint64_t rdev) {
  const bool device = (S_ISCHR(mode) && rdev != 0) || S_ISBLK(mode);
  if (device && caller.uid != 0 && !caller.checked) return Error(EPERM);
  return Ok();
}

uint32_t ModeAfterChmod(const Caller& caller, const ViewNode& node, uint32_t mode) {
  mode &= 07777;
  if (!MayKeepSetGid(caller, node.gid)) mode &= ~uint32_t{S_ISGID};
  return node.type() | mode;
}

void ClearSetIdBits(const Caller& caller, ViewNode& node) {
  node.mode &= ~uint32_t{S_ISUID};
  if ((node.mode & S_ISGID) == 0) return;
  const bool executable = (node.mode & S_IXGRP) != 0;
  if (executable || (caller.uid != 0 && !caller.InGroup(node.gid))) {
    node.mode &= ~uint32_t{S_ISGID};
  }
}

Result<void> CheckChown(const Caller& caller, const ViewNode& node, const AttrChange& change) {
  if (caller.uid == 0 || caller.checked) return Ok();
  if (change.uid && (*change.uid != node.uid || caller.uid != node.uid)) return Error(EPERM);
  if (change.gid) {
    if (caller.uid != node.uid) return Error(EPERM);
    if (*change.gid != node.gid && !caller.InGroup(*change.gid)) return Error(EPERM);
  }
  return Ok();
}

Result<void> CheckTimes(const Caller& caller, const ViewNode& node, const AttrChange& change) {
  if (IsOwner(caller, node)) return Ok();
  // Both set to the present is the "touch" that permission to write suffices for.
  if (change.atime || change.mtime || change.atime_now != change.mtime_now) return Error(EPERM);
  return change.atime_now ? CheckAccess(caller, node, W_OK) : Ok();
}

// The kinds of extended attributes that there are.
static Result<void> CheckXattrKind(std::string_view name) {
  for (std::string_view kind : {"user.", "trusted.", "security."}) {
    if (name.starts_with(kind)) return Ok();
  }
  if (name == "system.posix_acl_access" || name == "system.posix_acl_default") return Ok();
  return Error(EOPNOTSUPP);
}

Result<void> CheckXattr(const Caller& caller, const ViewNode& node, std::string_view name,
                        bool write) {
  if (name.empty() || name.size() > 255) return Error(ERANGE);
  if (name == "user." || name == "trusted." || name == "security.") return Error(EINVAL);
  if (caller.checked) return CheckXattrKind(name);
  if (name.starts_with("user.")) {
    if (!node.IsRegular() && !node.IsDirectory()) return Error(write ? EPERM : ENODATA);
    const bool sticky = node.IsDirectory() && (node.mode & S_ISVTX) != 0;
    if (write && sticky && !IsOwner(caller, node)) return Error(EPERM);
    return CheckAccess(caller, node, write ? W_OK : R_OK);
  }
  if (name.starts_with("trusted.")) {
    if (caller.uid != 0) return Error(write ? EPERM : ENODATA);
    return Ok();
  }
  if (name.starts_with("security.")) {
    if (write && caller.uid != 0) return Error(EPERM);
    return Ok();
  }
  if (name == "system.posix_acl_access" || name == "system.posix_acl_default") {
    if (write && !IsOwner(caller, node)) return Error(EPERM);
    return Ok();
  }
  return Error(EOPNOTSUPP);
}

}  // namespace agentfs
