// SPDX-License-Identifier: Apache-2.0
//
// Making a part of a branch what another ref has there, while programs may work in the branch.
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "workspace/changes.h"
#include "workspace/follow_paths.h"

namespace agentfs {

// What restoring the paths (none: everything) from `ref` would change in the branch.
Result<std::vector<PathChange>> PlanRestore(Volume& volume, const std::string& branch,
                                            const std::string& ref,
                                            const std::vector<std::string>& paths);
// Does it, file by file: files that are in both stay the files they are, so that who has them open
// sees the change. From "base" the paths are the base's afterwards, and follow it, but where the
// branch has the base's file under another name: there it gets a copy. Not atomic: the caller takes
// a snapshot before. Errors name the path.
Result<void> RestorePaths(Volume& volume, const std::string& branch, const std::string& ref,
                          const std::vector<std::string>& paths, const NamesForgetter& forget);

// Makes these changes in `target`, which is what they start from, with contents from `source`,
// which is what they lead to; the views may be of different volumes. Errors name the path.
Result<void> MakeChanges(FileSystem& target, FileSystem& source,
                         const std::vector<PathChange>& changes);

}  // namespace agentfs
