// SPDX-License-Identifier: Apache-2.0
//
// The composition root: a workspace put together from its lock, store, objects, base and volume.
#pragma once

#include <memory>
#include <optional>

#include "adapters/control/change_events.h"
#include "adapters/control/executions.h"
#include "adapters/control/operations.h"
#include "agentfs/volume.h"
#include "cli/permissions.h"
#include "sys/process_tracker.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

struct Context;

// The workspace that the context's options and the environment name; from inside a mount, the one
// that is mounted. Opens nothing.
Result<Workspace> LocateWorkspace(const Context& context);

// The file that names the branch and the snapshot to go back to (a line each) while an import is
// under way: whoever opens the workspace next takes back what a killed one had done.
std::string ImportMark(const Layout& layout);

// Whether the database is made if it is missing.
enum class Missing : uint8_t { kFail, kCreate };

// An open workspace, locked against other processes. Thread-safe but for Close.
class OpenWorkspace {
 public:
  // Cleans up first after a server, or an apply, that was killed.
  static Result<std::unique_ptr<OpenWorkspace>> Open(Workspace workspace, WorkspaceLock lock,
                                                     Missing missing);
  // Checks, and repairs, what must be sound for Open to succeed.
  static Result<FsckReport> CheckTables(const Workspace& workspace, bool repair);
  ~OpenWorkspace();

  Volume& volume() { return *volume_; }
  const Workspace& workspace() const { return workspace_; }
  // What commands do to branches and snapshots goes through these.
  control::Operations& operations() { return *operations_; }
  // Before anybody else uses it: operations take the server's mounts and subscribers into account.
  void AttachServer(control::MountHost& mounts, control::EventHub& events,
                    control::ChangeEvents& changes);
  // In a server: what commands are run through. Else null.
  control::Executions* executions() { return executions_.get(); }
  // In a server: while the value lives, changes of the branch are events. Else null.
  std::shared_ptr<void> WatchBranch(const std::string& branch, std::shared_ptr<FileSystem> view);
  // Around what is done in a server's workspace: what programs have written through mounts is in
  // the views; what was changed in views shows in the mounts, and subscribers have heard of it.
  void Settle();
  void Publish();
  // Who knows whose operations are recorded.
  ProcessTracker& processes() { return *processes_; }
  // What its policies let programs read and write.
  Permissions& permissions() { return permissions_; }
  // Whether opening made the database.
  bool created() const { return created_; }

  // Makes everything durable and closes the store. Every view must be gone.
  Result<void> Close();
  // After Close: lets others have the workspace.
  void Unlock() { lock_.reset(); }

 private:
  OpenWorkspace(Workspace workspace, WorkspaceLock lock)
      : workspace_(std::move(workspace)), lock_(std::move(lock)) {}
  Result<void> OpenVolume(Missing missing);

  const Workspace workspace_;
  Permissions permissions_{workspace_};
  std::optional<WorkspaceLock> lock_;
  std::shared_ptr<ProcessTracker> processes_;
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<control::Operations> operations_;
  std::unique_ptr<control::Executions> executions_;
  control::ChangeEvents* changes_ = nullptr;
  bool created_ = false;
};

}  // namespace agentfs::cli
