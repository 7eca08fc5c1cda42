// SPDX-License-Identifier: Apache-2.0
#include "cli/path_arguments.h"

#include <algorithm>
#include <filesystem>

#include "agentfs/files.h"
#include "agentfs/path.h"

namespace agentfs::cli {
namespace {

bool IsWithin(const std::string& path, const std::string& directory) {
  return !directory.empty() && path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Where the command runs, as a path in the workspace.
std::string CurrentPath(const Context& context, const Layout& layout) {
  std::error_code ignored;
  const std::string here = context.directory.empty()
                               ? std::filesystem::current_path(ignored).string()
                               : context.directory;
  return IsWithin(here, layout.base) ? here.substr(layout.base.size()) : "";
}

bool EitherHas(const Views& views, const std::string& path) {
  return Files(views.before).Resolve(path, FollowLinks::kNo).ok() ||
         Files(views.after).Resolve(path, FollowLinks::kNo).ok();
}

}  // namespace

Result<std::string> WorkspacePath(const Context& context, const Layout& layout,
                                  const std::string& argument) {
  if (IsWithin(argument, layout.base)) {
    return NormalizePath("/" + argument.substr(layout.base.size()));
  }
  if (argument.starts_with("/") || argument.empty()) return NormalizePath(argument);
  return NormalizePath(CurrentPath(context, layout) + "/" + argument);
}

Result<std::vector<std::string>> WorkspacePaths(const Context& context, const Layout& layout,
                                                const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    AGENTFS_ASSIGN(std::string path, WorkspacePath(context, layout, argument));
    paths.push_back(std::move(path));
  }
  return paths;
}

Result<std::vector<std::string>> PathsInAndOut(const Context& context, const Layout& layout,
                                               const Views& views,
                                               const std::vector<std::string>& arguments) {
  AGENTFS_ASSIGN(std::vector<std::string> paths, WorkspacePaths(context, layout, arguments));
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!arguments[i].starts_with("/") || IsOutside(paths[i]) || EitherHas(views, paths[i])) {
      continue;
    }
    std::error_code ignored;
    const std::string real = std::filesystem::weakly_canonical(arguments[i], ignored);
    AGENTFS_ASSIGN(const std::string outside,
                   NormalizePath(std::string(kHostPrefix) + (real.empty() ? paths[i] : real)));
    if (EitherHas(views, outside)) paths[i] = outside;
  }
  return paths;
}

Result<void> RequirePaths(Context& context, const Views& views,
                          const std::vector<std::string>& paths, const std::string& where) {
  for (const std::string& path : paths) {
    if (EitherHas(views, path)) continue;
    context.failed_path = path;
    return Error(ENOENT, path + ": neither in " + where);
  }
  return Ok();
}

bool IsBranch(Volume& volume, const std::string& ref) {
  const auto branches = volume.ListBranches();
  return std::any_of(branches.begin(), branches.end(),
                     [&](const BranchInfo& branch) { return branch.name == ref; });
}

bool IsRef(Volume& volume, const std::string& ref) {
  if (ref == "base" || IsBranch(volume, ref)) return true;
  const auto snapshots = volume.ListSnapshots();
  return std::any_of(snapshots.begin(), snapshots.end(), [&](const SnapshotInfo& snapshot) {
    return snapshot.name == ref || "s" + std::to_string(snapshot.number) == ref;
  });
}

Result<void> RequireRef(Volume& volume, const std::string& ref) {
  if (IsRef(volume, ref)) return Ok();
  return Error(ENOENT, "there is no branch or snapshot '" + ref + "'",
               "'agentfs branch list' and 'agentfs snapshot list' show what there is");
}

Result<void> RequireBranch(Volume& volume, const std::string& branch) {
  if (IsBranch(volume, branch)) return Ok();
  return Error(ENOENT, "there is no branch '" + branch + "'",
               "'agentfs branch list' shows the branches");
}

}  // namespace agentfs::cli
