// SPDX-License-Identifier: Apache-2.0
#include "workspace/locate.h"

#include <filesystem>
#include <optional>
#include <system_error>

namespace agentfs {
namespace {

namespace fs = std::filesystem;

std::optional<WorkspacePlace> PlaceAt(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return WorkspacePlace{WorkspaceKind::kBare, path};
  if (fs::is_directory(path / kStateDirectory, ignored)) {
    return WorkspacePlace{WorkspaceKind::kDirectory, path};
  }
  if (fs::is_regular_file(path / "config.toml", ignored) &&
      fs::is_regular_file(path / "state.db", ignored)) {
    // Somebody may name the state directory of a workspace instead of the workspace.
    if (path.filename() == kStateDirectory) {
      return WorkspacePlace{WorkspaceKind::kDirectory, path.parent_path()};
    }
    return WorkspacePlace{WorkspaceKind::kState, path};
  }
  return std::nullopt;
}

Result<WorkspacePlace> PlaceNamed(const std::string& path, std::string_view who) {
  auto place = PlaceAt(AbsolutePath(path));
  if (place) return *place;
  std::error_code ignored;
  const bool exists = fs::exists(path, ignored);
  return Error(ENOENT,
               std::string(who) + " " + path + ": " +
                   (exists ? "not a workspace" : "no such file or directory"),
               "'agentfs init " + path + "' makes one");
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  fs::path absolute = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) absolute = fs::absolute(path, error).lexically_normal();
  std::string text = absolute;
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

Result<WorkspacePlace> FindWorkspace(const WorkspaceHint& hint) {
  if (!hint.option.empty()) return PlaceNamed(hint.option, "--workspace");
  if (!hint.environment.empty()) return PlaceNamed(hint.environment, "AGENTFS_WORKSPACE");
  if (hint.current_directory.empty()) {
    return Error(ENOENT, "workspace: the current directory does not exist any more",
                 "change to one that does, or name the workspace with --workspace DIR");
  }
  std::error_code ignored;
  for (fs::path path = AbsolutePath(hint.current_directory);; path = path.parent_path()) {
    if (fs::is_directory(path / kStateDirectory, ignored)) {
      return WorkspacePlace{WorkspaceKind::kDirectory, path};
    }
    if (path == path.parent_path()) break;
  }
  return Error(ENOENT, "workspace: none here (" + hint.current_directory + ") or in any parent",
               "'agentfs init' makes one here; --workspace DIR names another");
}

}  // namespace agentfs
