// SPDX-License-Identifier: Apache-2.0
#include "workspace/follow_paths.h"

#include <sys/stat.h>

#include "agentfs/files.h"
#include "agentfs/path.h"

namespace agentfs {
namespace {

// Of those that are there; nothing holds them when this returns.
Result<std::vector<Touched::Name>> FilesAt(Volume& volume, const std::string& branch,
                                           const std::vector<std::string>& paths) {
  AGENTFS_ASSIGN(const auto view, volume.OpenBranch(branch));
  const Files files(view, Caller{});
  std::vector<Touched::Name> names;
  for (const std::string& path : paths) {
    const auto found = files.Resolve(path, FollowLinks::kNo);
    if (!found.ok() || S_ISDIR(found->attr.mode)) continue;
    const auto parent = files.Resolve(ParentPath(path), FollowLinks::kNo);
    if (!parent.ok()) continue;
    names.push_back({parent->node->id(), std::string(FileName(path)), found->node->id()});
  }
  return names;
}

}  // namespace

Result<void> FollowPaths(Volume& volume, const std::string& branch,
                         const std::vector<std::string>& paths, FollowMode mode,
                         const NamesForgetter& forget) {
  if (forget) {
    AGENTFS_ASSIGN(const auto names, FilesAt(volume, branch, paths));
    forget(branch, names);
  }
  return volume.FollowBase(branch, paths, mode);
}

}  // namespace agentfs
