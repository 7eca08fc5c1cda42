// SPDX-License-Identifier: Apache-2.0
//
// Giving a new node the attributes of another, as copying a tree and loading an archive do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"

namespace agentfs {

using Xattrs = std::vector<std::pair<std::string, std::string>>;

// All that the caller may see.
Result<Xattrs> ReadXattrs(FileSystem& fs, const Caller& caller, Node& node);

// What a node is to have; absent fields stay as they are.
struct NodeMetadata {
  uint32_t mode = 0;  // with the type; a link's permissions are not set
  uint32_t uid = 0, gid = 0;
  std::optional<Timestamp> atime, mtime;
  Xattrs xattrs;
};

// Owner, xattrs, mode, times, in the order in which none undoes another. Owners are set only by
// root; set-id bits are dropped where the owner cannot be had, and so are xattrs that only a
// privileged caller may set (security., trusted.) if this one may not.
Result<void> ApplyMetadata(FileSystem& fs, const Caller& caller, Node& node,
                           const NodeMetadata& metadata);

}  // namespace agentfs
