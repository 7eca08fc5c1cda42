// SPDX-License-Identifier: Apache-2.0
//
// In a damaged tree a directory can be below itself: what follows entries down or parents up then
// never ends, unless it keeps a trail.
#pragma once

#include <string_view>
#include <unordered_set>

#include "agentfs/ids.h"
#include "agentfs/result.h"

namespace agentfs {

// ELOOP, with a message that names `path`.
Error DirectoryBelowItself(std::string_view path);

// The directories that a walk is in. One thread.
class DirectoryTrail {
 public:
  // DirectoryBelowItself: the walk is in this directory already.
  Result<void> Enter(NodeId directory, std::string_view path);
  void Leave(NodeId directory) { entered_.erase(directory.value); }

 private:
  std::unordered_set<uint64_t> entered_;
};

}  // namespace agentfs
