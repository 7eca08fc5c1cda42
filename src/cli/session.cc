// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/stores.h"

namespace agentfs::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Error WithRemedy(const Error& error, std::string remedy) {
  return Error(error.code(), error.message(), std::move(remedy));
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Open(const Context& context) {
  std::error_code ignored;
  WorkspaceHint hint;
  hint.option = context.workspace;
  hint.environment = Environment("AGENTFS_WORKSPACE");
  hint.current_directory = std::filesystem::current_path(ignored);
  AGENTFS_ASSIGN(WorkspacePlace place, FindWorkspace(hint));
  AGENTFS_ASSIGN(Workspace workspace, LoadWorkspace(place));
  return OpenWorkspace(std::move(workspace), Missing::kFail);
}

Result<std::unique_ptr<Session>> Session::OpenWorkspace(Workspace workspace, Missing missing) {
  AGENTFS_ASSIGN(WorkspaceLock lock, LockWorkspace(workspace));
  std::unique_ptr<Session> session(new Session(std::move(workspace), std::move(lock)));
  AGENTFS_TRY(session->OpenVolume(missing));
  return session;
}

Result<void> Session::OpenVolume(Missing missing) {
  const Layout& layout = workspace_.layout;
  std::error_code ignored;
  created_ = !std::filesystem::exists(layout.database, ignored);

  StoreOptions options;
  options.create = missing == Missing::kCreate;
  auto store = OpenSqliteStore(layout.database, VolumeSchema(), options);
  if (store.code() == ENOENT) {
    return Error(ENOENT, layout.database + ": the workspace has no database",
                 "'agentfs init' completes the workspace");
  }
  if (!store.ok()) return store.error().WithContext(layout.database);

  std::unique_ptr<BlobStore> blobs;
  if (!layout.objects.empty()) {
    AGENTFS_ASSIGN(blobs, OpenHostBlobStore(layout.objects));
  }
  std::unique_ptr<BaseFs> base;
  if (!layout.base.empty()) {
    AGENTFS_ASSIGN(base, OpenHostBase(layout.base, layout.hidden));
  }
  VolumeOptions volume_options = workspace_.config.volume;
  volume_options.state_directory = std::filesystem::path(layout.database).parent_path();
  auto volume =
      Volume::Open(std::move(store).value(), std::move(blobs), std::move(base), volume_options);
  if (!volume.ok()) return volume.error().WithContext(layout.database);
  volume_ = std::move(volume).value();
  return Ok();
}

Session::~Session() = default;

Result<void> Session::Close() {
  auto closed = volume_->Close();
  if (!closed.ok()) return closed.error().WithContext("saving the changes");
  return Ok();
}

Result<Files> OpenFiles(Session& session, const ViewChoice& choice, Access access) {
  Volume& volume = session.volume();
  if (!choice.snapshot.empty()) {
    if (access == Access::kWrite) {
      return Error(EROFS, "snapshot " + choice.snapshot + ": snapshots cannot be changed",
                   "'agentfs branch create NAME --from " + choice.snapshot + "' makes a branch");
    }
    auto view = volume.OpenSnapshot(choice.snapshot);
    if (!view.ok()) {
      return WithRemedy(view.error().WithContext("snapshot " + choice.snapshot),
                        "'agentfs snapshot list' shows the snapshots");
    }
    return Files(std::move(view).value(), CurrentCaller());
  }
  const std::string branch = choice.branch.empty() ? std::string(kMainBranch) : choice.branch;
  auto view = volume.OpenBranch(branch);
  if (view.code() == ENOENT && access == Access::kRead) {
    auto snapshot = volume.OpenSnapshot(branch);
    if (snapshot.ok()) view = std::move(snapshot);
  }
  if (!view.ok()) {
    return WithRemedy(view.error().WithContext("branch " + branch),
                      "'agentfs branch list' shows the branches");
  }
  return Files(std::move(view).value(), CurrentCaller());
}

Caller CurrentCaller() {
  static const std::vector<uint32_t> groups = [] {
    std::vector<gid_t> ids(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
    const int count = ::getgroups(static_cast<int>(ids.size()), ids.data());
    ids.resize(static_cast<size_t>(std::max(0, count)));
    return std::vector<uint32_t>(ids.begin(), ids.end());
  }();
  static const uint32_t umask = [] {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return mask;
  }();
  Caller caller;
  caller.uid = ::geteuid();
  caller.gid = ::getegid();
  caller.groups = groups;
  caller.umask = umask;
  caller.pid = static_cast<uint32_t>(::getpid());
  return caller;
}

}  // namespace agentfs::cli
