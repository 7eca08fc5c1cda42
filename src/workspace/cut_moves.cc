// SPDX-License-Identifier: Apache-2.0
#include "workspace/cut_moves.h"

#include <sys/stat.h>

#include "agentfs/files.h"
#include "agentfs/path.h"

namespace agentfs {
namespace {

// Where the base has what is at the change's path, if under another name.
std::string OldName(const PathChange& change) {
  if (!change.old_path.empty()) return change.old_path;
  if (!change.after.node || !change.base_path) return "";
  std::string base_path = "/" + *change.base_path;
  return base_path == change.path ? "" : base_path;
}

}  // namespace

CutMoves::CutMoves(const std::vector<PathChange>& changes, const std::vector<StandIn>& moved,
                   const std::vector<std::string>& paths, const std::shared_ptr<FileSystem>& view) {
  if (paths.empty()) return;
  const auto add = [&](std::string from, const std::string& to, mode_t type) {
    const bool whole = !S_ISDIR(type) || IsAtOrBelow(from, paths);
    if (!whole || !IsAtOrBelow(to, paths)) moves_.push_back({std::move(from), to});
  };
  const Files files(view, Caller{});
  for (const PathChange& change : changes) {
    std::string from = OldName(change);
    if (from.empty()) continue;
    // A further name of what is still there is no move.
    const auto there = files.Resolve(from, FollowLinks::kNo);
    if (there.ok() && there->attr.node == change.after.attr.node) continue;
    add(std::move(from), change.path, change.after.attr.mode);
  }
  for (const StandIn& each : moved) {
    if (!each.base_path || "/" + *each.base_path == each.path) continue;
    add("/" + *each.base_path, each.path, S_IFDIR);
  }
  for (const Move& move : moves_) {
    from_.try_emplace(move.from, &move);
    to_.try_emplace(move.to, &move);
  }
}

const Move* CutMoves::Find(const ByPath& moves, std::string_view path) {
  const Move* topmost = nullptr;
  if (moves.empty()) return topmost;
  for (; path != "/"; path = ParentPath(path)) {
    if (const auto it = moves.find(path); it != moves.end()) topmost = it->second;
  }
  return topmost;
}

}  // namespace agentfs
