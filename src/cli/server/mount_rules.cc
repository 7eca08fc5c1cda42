// SPDX-License-Identifier: Apache-2.0
#include "cli/server/mount_rules.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "adapters/fuse/transport/mount_point.h"

namespace agentfs::cli {
namespace {

bool IsAtOrBelow(const std::string& path, const std::string& top) {
  if (top == "/") return true;
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

Error Refuse(const std::string& point, const std::string& why, const std::string& remedy) {
  return Error(EINVAL, "cannot mount at " + point + ": " + why, remedy);
}

// Whether the base shows what is at `point`, which is below it.
bool IsVisibleInBase(const Layout& layout, const std::string& point) {
  const std::string below = point.substr(layout.base == "/" ? 1 : layout.base.size() + 1);
  const std::string first = below.substr(0, below.find('/'));
  return std::find(layout.hidden.begin(), layout.hidden.end(), first) == layout.hidden.end();
}

Result<void> CheckPlace(const Layout& layout, const std::string& point) {
  const std::string state = std::filesystem::path(layout.database).parent_path();
  if (IsAtOrBelow(state, point)) {
    return Refuse(point, "it would hide the workspace's own state in " + state,
                  "choose a directory elsewhere");
  }
  if (layout.base.empty() || point == layout.base) return Ok();
  if (IsAtOrBelow(layout.base, point)) {
    return Refuse(point, "it would hide the base " + layout.base, "choose a directory elsewhere");
  }
  if (IsAtOrBelow(point, layout.base) && IsVisibleInBase(layout, point)) {
    return Refuse(point, "it is in the base " + layout.base + ", which would contain itself",
                  "choose a directory outside of the base");
  }
  return Ok();
}

}  // namespace

Result<void> PrepareMountPoint(const Layout& layout, const std::string& point) {
  AGENTFS_TRY(CheckPlace(layout, point));
  const fuse::PathState state = fuse::StateOfPath(point);
  if (state == fuse::PathState::kMounted) {
    return Error(EBUSY, "cannot mount at " + point + ": a view is mounted there already",
                 "'agentfs umount " + point + "' unmounts it");
  }
  if (state == fuse::PathState::kDead) AGENTFS_TRY(fuse::RemoveDeadMount(point));
  struct stat st;
  if (::stat(point.c_str(), &st) != 0) {
    const int code = errno;
    return Error(code, "cannot mount at " + point + ": " + Error(code).message(),
                 code == ENOENT ? "'mkdir -p " + point + "' makes it" : "");
  }
  if (!S_ISDIR(st.st_mode)) {
    return Error(ENOTDIR, "cannot mount at " + point + ": it is not a directory");
  }
  return Ok();
}

}  // namespace agentfs::cli
