// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include "cli/server/lock_or_server.h"

namespace agentfs::cli {
namespace {

Error WithRemedy(const Error& error, std::string remedy) {
  return Error(error.code(), error.message(), std::move(remedy));
}

// The lock, unless a server has the workspace: then the context says so.
Result<WorkspaceLock> Lock(Context& context, const Workspace& workspace) {
  AGENTFS_ASSIGN(auto lock, LockOrFindServer(workspace));
  if (lock) return std::move(*lock);
  context.server_appeared = true;
  return Error(EBUSY, "the workspace is served by another process");
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Open(Context& context, Access access) {
  std::unique_ptr<Session> session(new Session(context, access));
  if (context.live != nullptr) {
    session->workspace_ = context.live;
    return session;
  }
  AGENTFS_ASSIGN(Workspace workspace, LocateWorkspace(context));
  AGENTFS_ASSIGN(WorkspaceLock lock, Lock(context, workspace));
  AGENTFS_ASSIGN(session->own_,
                 OpenWorkspace::Open(std::move(workspace), std::move(lock), Missing::kFail));
  session->workspace_ = session->own_.get();
  return session;
}

Result<FsckReport> Session::CheckTables(Context& context, bool repair) {
  if (context.live != nullptr) return FsckReport();
  AGENTFS_ASSIGN(Workspace workspace, LocateWorkspace(context));
  AGENTFS_ASSIGN(WorkspaceLock lock, Lock(context, workspace));
  return OpenWorkspace::CheckTables(workspace, repair);
}

Session::~Session() = default;

Result<void> Session::Close() {
  watch_.reset();
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
  if (access == Access::kWrite) session.watch_ = session.workspace_->WatchBranch(branch, *view);
  return Files(std::move(view).value(), session.context().identity.AsCaller());
}

}  // namespace agentfs::cli
