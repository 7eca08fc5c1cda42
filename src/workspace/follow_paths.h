// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

// Has whoever remembers names of files of a branch (the kernel, of a mount) forget these, as far as
// nothing uses the files. The names of nodes are filled in.
using NamesForgetter =
    std::function<void(const std::string& branch, const std::vector<Touched::Name>& names)>;

// Volume::FollowBase, for a branch that is shown by mounts: a file that is only remembered would
// count as one in use, and stay the branch's own. `forget` may be empty: there are no mounts.
Result<void> FollowPaths(Volume& volume, const std::string& branch,
                         const std::vector<std::string>& paths, FollowMode mode,
                         const NamesForgetter& forget);

}  // namespace agentfs
