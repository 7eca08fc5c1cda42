// SPDX-License-Identifier: Apache-2.0
#include "workspace/workspace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "sys/fd.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigFile = "config.toml";
constexpr std::string_view kMakingFile = "making";

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Layout BareLayout(const std::string& file) {
  Layout layout;
  layout.kind = WorkspaceKind::kBare;
  layout.root = file;
  layout.database = file;
  layout.lock = file + "-lock";
  layout.socket = file + "-socket";
  layout.mounts = file + "-mounts";
  return layout;
}

// A state directory is invisible in its base. One further down than the base's root cannot be.
Result<std::vector<std::string>> HiddenNames(const fs::path& base, const fs::path& state) {
  std::vector<std::string> hidden = {std::string(kStateDirectory)};
  const fs::path relative = state.lexically_relative(base);
  if (relative.empty() || *relative.begin() == "..") return hidden;
  if (relative == ".") return Error(EINVAL, "the state directory cannot be the base itself");
  if (relative.has_parent_path()) {
    return Error(EINVAL, state.string() + ": a state directory inside the base must be in its root",
                 "choose a place outside of " + base.string());
  }
  if (relative != kStateDirectory) hidden.push_back(relative);
  return hidden;
}

Result<Layout> StateLayout(WorkspaceKind kind, const std::string& root, const std::string& state,
                           const std::string& base) {
  Layout layout;
  layout.kind = kind;
  layout.root = root;
  layout.database = state + "/state.db";
  layout.objects = state + "/objects";
  layout.kept = state + "/kept";
  layout.config = state + "/" + std::string(kConfigFile);
  layout.making = state + "/" + std::string(kMakingFile);
  layout.lock = state + "/lock";
  layout.socket = state + "/control.sock";
  layout.mounts = state + "/mounts";
  layout.log = state + "/server.log";
  layout.outputs = state + "/outputs";
  layout.base = base;
  AGENTFS_ASSIGN(layout.hidden, HiddenNames(base, state));
  return layout;
}

Result<void> MakeDirectory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return Ok();
  const int code = errno;
  return Error(code).WithContext("cannot make the directory " + path);
}

// Writes a file unless it is there; complete or absent whatever happens in between.
Result<void> MakeFile(const std::string& path, std::string_view content) {
  if (Exists(path)) return Ok();
  const std::string temporary = path + ".new";
  auto write = [&]() -> Result<void> {
    AGENTFS_ASSIGN(Fd fd, OpenAt(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    AGENTFS_TRY(WriteAt(fd.get(), 0, content));
    AGENTFS_TRY(SyncFd(fd.get()));
    if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoError();
    return Ok();
  };
  auto done = write();
  if (!done.ok()) return done.error().WithContext("cannot write " + path);
  return Ok();
}

Result<void> SyncDirectory(const std::string& path) {
  AGENTFS_ASSIGN(Fd fd, OpenAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY));
  return SyncFd(fd.get());
}

Result<void> RequireDirectory(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return ErrnoError().WithContext(path);
  if (!S_ISDIR(st.st_mode)) return Error(ENOTDIR).WithContext(path);
  return Ok();
}

Result<Workspace> PrepareState(const InitOptions& options) {
  const std::string base = AbsolutePath(options.directory);
  AGENTFS_TRY(RequireDirectory(base));
  const bool apart = !options.state.empty();
  const std::string state =
      apart ? AbsolutePath(options.state) : base + "/" + std::string(kStateDirectory);
  AGENTFS_TRY(HiddenNames(base, state));  // refuse before anything is made
  const auto kind = apart ? WorkspaceKind::kState : WorkspaceKind::kDirectory;
  const WorkspacePlace place{kind, apart ? state : base};
  if (Exists(state + "/state.db") && Exists(state + "/" + std::string(kConfigFile))) {
    return LoadWorkspace(place);
  }

  Config config;
  config.volume.single_file = options.single_file;
  if (apart) config.base = base;
  auto made = MakeDirectory(state, 0700);
  if (!apart && (made.code() == EROFS || made.code() == EACCES)) {
    return Error(made.code(), made.error().message(),
                 "'agentfs init DIR --state STATE' keeps everything in STATE instead");
  }
  AGENTFS_TRY(made);
  // Whoever opens it completes it if we are killed; later a missing database is a lost one.
  AGENTFS_TRY(MakeFile(state + "/" + std::string(kMakingFile), ""));
  AGENTFS_TRY(MakeFile(state + "/.gitignore", "*\n"));
  AGENTFS_TRY(MakeFile(state + "/" + std::string(kConfigFile), RenderConfig(config)));
  AGENTFS_TRY(SyncDirectory(state));
  AGENTFS_TRY(SyncDirectory(state + "/.."));

  AGENTFS_ASSIGN(Workspace workspace, LoadWorkspace(place));
  if (!workspace.layout.objects.empty()) {
    AGENTFS_TRY(MakeDirectory(workspace.layout.objects, 0700));
  }
  return workspace;
}

}  // namespace

Result<Workspace> LoadWorkspace(const WorkspacePlace& place) {
  Workspace workspace;
  if (place.kind == WorkspaceKind::kBare) {
    workspace.layout = BareLayout(place.path);
    workspace.config.volume.single_file = true;
    return workspace;
  }
  const bool apart = place.kind == WorkspaceKind::kState;
  const std::string state = apart ? place.path : place.path + "/" + std::string(kStateDirectory);
  auto config = LoadConfig(state + "/" + std::string(kConfigFile));
  if (config.code() == ENOENT) {
    return Error(ENOENT, state + ": no config.toml: the workspace is not complete",
                 "'agentfs init " + place.path + "' completes it");
  }
  if (!config.ok()) return config.error();
  workspace.config = *config;
  const std::string base = config->base.empty() && !apart ? place.path : config->base;
  if (base.empty()) {
    return Error(EINVAL, state + "/config.toml: workspace.base is missing",
                 "name the base directory there");
  }
  AGENTFS_ASSIGN(workspace.layout, StateLayout(place.kind, place.path, state, base));
  if (config->volume.single_file) workspace.layout.objects.clear();
  return workspace;
}

Result<Workspace> PrepareWorkspace(const InitOptions& options) {
  if (options.bare.empty()) return PrepareState(options);
  if (!options.state.empty() || !options.directory.empty()) {
    return Error(EINVAL, "--bare makes a workspace without a base, and a base was named");
  }
  const std::string file = AbsolutePath(options.bare);
  AGENTFS_TRY(RequireDirectory(fs::path(file).parent_path()));
  return LoadWorkspace({WorkspaceKind::kBare, file});
}

Result<WorkspaceLock> LockWorkspace(const Workspace& workspace) {
  return LockWorkspace(workspace, workspace.config.lock_timeout_ms);
}

Result<WorkspaceLock> LockWorkspace(const Workspace& workspace, uint32_t timeout_ms) {
  const auto after = workspace.layout.kind == WorkspaceKind::kBare
                         ? WorkspaceLock::After::kRemoveFile
                         : WorkspaceLock::After::kKeepFile;
  return WorkspaceLock::Acquire(workspace.layout.lock, timeout_ms, after);
}

}  // namespace agentfs
