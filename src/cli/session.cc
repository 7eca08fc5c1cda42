// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <cstdlib>
#include <filesystem>

namespace agentfs::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Error WithRemedy(const Error& error, std::string remedy) {
  return Error(error.code(), error.message(), std::move(remedy));
}

Result<Workspace> Locate(const Context& context) {
  std::error_code ignored;
  WorkspaceHint hint;
  hint.option = context.workspace;
  hint.environment = Environment("AGENTFS_WORKSPACE");
  hint.current_directory = std::filesystem::current_path(ignored);
  AGENTFS_ASSIGN(WorkspacePlace place, FindWorkspace(hint));
  return LoadWorkspace(place);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Open(const Context& context, Access access) {
  std::unique_ptr<Session> session(new Session(context, access));
  if (context.live != nullptr) {
    session->workspace_ = context.live;
    return session;
  }
  AGENTFS_ASSIGN(Workspace workspace, Locate(context));
  AGENTFS_ASSIGN(WorkspaceLock lock, LockWorkspace(workspace));
  AGENTFS_ASSIGN(session->own_,
                 OpenWorkspace::Open(std::move(workspace), std::move(lock), Missing::kFail));
  session->workspace_ = session->own_.get();
  return session;
}

Result<FsckReport> Session::CheckTables(const Context& context, bool repair) {
  if (context.live != nullptr) return FsckReport();
  AGENTFS_ASSIGN(Workspace workspace, Locate(context));
  AGENTFS_ASSIGN(WorkspaceLock lock, LockWorkspace(workspace));
  return OpenWorkspace::CheckTables(workspace, repair);
}

Session::~Session() = default;

Result<void> Session::Close() {
  if (own_) return own_->Close();
  if (access_ == Access::kRead) return Ok();
  auto flushed = volume().Flush(Durability::kSynced);
  if (!flushed.ok()) return flushed.error().WithContext("saving the changes");
  return Ok();
}

Result<Files> OpenFiles(Session& session, const ViewChoice& choice) {
  const Access access = session.access();
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
    return Files(std::move(view).value(), session.context().identity.AsCaller());
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
  return Files(std::move(view).value(), session.context().identity.AsCaller());
}

}  // namespace agentfs::cli
