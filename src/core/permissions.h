// SPDX-License-Identifier: Apache-2.0
//
// Who may do what: the rules of POSIX and Linux on mode bits, owners and the sticky bit. The nodes
// must be locked (shared will do). A caller who was `checked` is denied nothing that depends on who
// he is.
#pragma once

#include "agentfs/result.h"
#include "agentfs/types.h"
#include "core/node.h"

namespace agentfs {

// `mask` of R_OK, W_OK, X_OK; EACCES.
Result<void> CheckAccess(const Caller& caller, const ViewNode& node, int mask);
// Whether an entry may be taken out of `directory`: EPERM where the sticky bit forbids it.
Result<void> CheckSticky(const Caller& caller, const ViewNode& directory, const ViewNode& child);
inline bool IsOwner(const Caller& caller, const ViewNode& node) {
  return caller.checked || caller.uid == 0 || caller.uid == node.uid;
}
// Whether what the caller makes or changes may be set-gid to `gid`.
inline bool MayKeepSetGid(const Caller& caller, uint32_t gid) {
  return caller.checked || caller.uid == 0 || caller.InGroup(gid);
}
// Devices are root's to make, all but overlayfs' whiteout (a character device 0/0): EPERM.
Result<void> CheckMakeNode(const Caller& caller, uint32_t mode, uint64_t rdev);
// The mode that chmod to `mode` gives: a file's setgid bit is lost to those not in its group.
uint32_t ModeAfterChmod(const Caller& caller, const ViewNode& node, uint32_t mode);
// A write or a change of owner takes the set-id bits away (exclusive lock). Setgid without group
// execution is a mark for locking, which stays for members of the group.
void ClearSetIdBits(const Caller& caller, ViewNode& node);
// EPERM unless the caller may change owner or group as asked.
Result<void> CheckChown(const Caller& caller, const ViewNode& node, const AttrChange& change);
// EPERM or EACCES unless the caller may set these times.
Result<void> CheckTimes(const Caller& caller, const ViewNode& node, const AttrChange& change);
// EPERM, EOPNOTSUPP or ENODATA unless the caller may read or (`write`) change the attribute.
Result<void> CheckXattr(const Caller& caller, const ViewNode& node, std::string_view name,
                        bool write);

}  // namespace agentfs
