// SPDX-License-Identifier: Apache-2.0
#include "core/files/node_metadata.h"

#include <sys/stat.h>

#include <string_view>

namespace agentfs {
namespace {

bool IsPrivileged(std::string_view xattr) {
  return xattr.starts_with("security.") || xattr.starts_with("trusted.");
}

Result<void> SetXattrs(FileSystem& fs, const Caller& caller, Node& node, const Xattrs& xattrs) {
  for (const auto& [name, value] : xattrs) {
    Result<void> set = fs.SetXattr(caller, node, name, value, XattrMode::kSet);
    if (set.code() == EPERM && caller.uid != 0 && IsPrivileged(name)) continue;
    if (!set.ok()) return set.error().WithContext("cannot set xattr '" + name + "'");
  }
  return Ok();
}

}  // namespace

Result<Xattrs> ReadXattrs(FileSystem& fs, const Caller& caller, Node& node) {
  Xattrs xattrs;
  AGENTFS_ASSIGN(std::vector<std::string> names, fs.ListXattrs(caller, node));
  for (std::string& name : names) {
    Result<std::string> value = fs.GetXattr(caller, node, name);
    if (value.code() == ENODATA || value.code() == EPERM) continue;  // gone, or not ours to see
    if (!value.ok()) return std::move(value).error();
    xattrs.emplace_back(std::move(name), std::move(*value));
  }
  return xattrs;
}

Result<void> ApplyMetadata(FileSystem& fs, const Caller& caller, Node& node,
                           const NodeMetadata& metadata) {
  uint32_t dropped = 0;
  AGENTFS_ASSIGN(Attr now, fs.GetAttr(node));
  if (now.uid != metadata.uid || now.gid != metadata.gid) {
    if (caller.uid == 0) {
      AttrChange owner;
      owner.uid = metadata.uid;
      owner.gid = metadata.gid;
      AGENTFS_TRY(fs.SetAttr(caller, node, owner));
    } else {
      dropped = S_ISUID | S_ISGID;
    }
  }
  AGENTFS_TRY(SetXattrs(fs, caller, node, metadata.xattrs));
  AttrChange change;
  if (!S_ISLNK(metadata.mode)) change.mode = metadata.mode & 07777 & ~dropped;
  change.atime = metadata.atime;
  change.mtime = metadata.mtime;
  if (!change.mode && !change.atime && !change.mtime) return Ok();
  AGENTFS_TRY(fs.SetAttr(caller, node, change));
  return Ok();
}

}  // namespace agentfs
