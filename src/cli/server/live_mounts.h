// SPDX-License-Identifier: Apache-2.0
//
// The mounts of a server.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/control/change_events.h"
#include "adapters/control/mount_host.h"
#include "adapters/fuse/mount.h"
#include "agentfs/volume.h"
#include "cli/permissions.h"
#include "cli/server/live_runs.h"
#include "cli/server/session_set.h"
#include "sys/process_tracker.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// Thread-safe. What it is given must outlive it; a mount holds the view that it shows.
class LiveMounts final : public control::MountHost {
 public:
  // Mounts want `wanted` of the kernel. `changed` is called, by any thread, when nobody uses the
  // session with all branches any more.
  LiveMounts(Volume& volume, ProcessTracker& processes, const Layout& layout,
             Permissions& permissions, control::ChangeEvents& changes, fuse::Wanted wanted,
             std::function<void()> changed)
      : volume_(volume),
        processes_(processes),
        layout_(layout),
        permissions_(permissions),
        changes_(changes),
        wanted_(wanted),
        sessions_([this, told = std::move(changed)](SessionKind kind) {
          return std::make_unique<BranchSession>(volume_, layout_, permissions_.rules(), changes_,
                                                 std::move(kind), wanted_, told);
        }) {}

  // What answers ioctl on the control file of mounts made from now on.
  void SetControl(fuse::ControlHandler control) {
    sessions_.SetControl(control);
    control_ = std::move(control);
  }

  Result<control::MountState> Mount(const control::MountRequest& request) override;
  Result<void> Unmount(std::string_view point, control::UnmountForce force) override;
  std::vector<control::MountState> List() override;
  std::vector<control::MountUser> Users(std::string_view point) override;
  Result<std::string> BeginRun(const control::RunRequest& request) override;
  std::vector<control::RunRequest> Runs() override { return runs_.List(); }
  void EndRun(uint64_t connection) override;
  void NoteExec(uint64_t connection, uint64_t exec, AuditLevel level) override;
  Result<void> FlushPages(std::string_view branch) override;
  void Settle() override;
  void FlushInvalidations() override;
  void BranchReplaced(std::string_view branch) override;
  Result<std::string> SessionRoot() override;
  Result<control::BindState> Bind(const control::BindRequest& request) override;
  std::vector<control::BoundProcess> ListBound() override { return Bound(); }
  bool Release(std::string_view branch) override;
  void Forget(std::string_view branch, const std::vector<Touched::Name>& names) override;

  // Nothing is mounted but, perhaps, the session with all branches.
  bool empty() const;
  // The same, and nobody has a branch of the session.
  bool unused() const { return empty() && Bound().empty(); }
  // Takes the session away as far as nobody uses it. True: nothing is left of it.
  bool EndUnusedSession();
  // Whether a command has run in a sandbox made from the session.
  bool had_runs() const { return runs_.used(); }
  // Whether there has ever been one.
  bool used() const;
  // Lets go of those that somebody else has unmounted, and of sessions whose last user has gone.
  void DropEnded();
  // Unmounts, by force if need be, what the connection was to hold; or everything.
  void EndHeldBy(uint64_t connection);
  void EndAll();

 private:
  struct Live {
    control::MountRequest request;
    std::shared_ptr<control::ChangeEvents::Watch> watch;  // null: a snapshot does not change
    std::unique_ptr<fuse::Mount> mount;
  };
  using LivePtr = std::shared_ptr<Live>;

  std::vector<LivePtr> Snapshot() const ABSL_LOCKS_EXCLUDED(mu_);
  Result<LivePtr> Find(std::string_view point) const;
  Result<void> UnmountSession(BranchSession& session, control::UnmountForce force);
  std::vector<std::string> HiddenInViews(const control::RunRequest& request) const;
  Result<std::string> RootOf(BranchSession& session) ABSL_LOCKS_EXCLUDED(change_mu_);
  // Each session sees the processes of all.
  std::vector<control::BoundProcess> Bound() const;
  // Takes away what was hidden for runs that have ended.
  void DetachHiding() ABSL_LOCKS_EXCLUDED(change_mu_);
  Result<void> Start(Live& live);
  // Before anything is shown: by the policies as they are now.
  Result<void> RefreshPermissions();
  Result<void> UnmountOne(const LivePtr& live, control::UnmountForce force);
  Error Busy(const std::string& point);
  void Forget(const LivePtr& live);
  void Record();

  void LoseRun(uint64_t connection);

  Volume& volume_;
  ProcessTracker& processes_;
  const Layout& layout_;
  Permissions& permissions_;
  control::ChangeEvents& changes_;
  const fuse::Wanted wanted_;
  fuse::ControlHandler control_;
  SessionSet sessions_;  // the audited ones, each open a message: for runs of whom all is recorded
  LiveRuns runs_;
  std::atomic<bool> had_bound_ = false;  // a process that is none of the runs'
  absl::Mutex change_mu_;                // one mounts or unmounts at a time; taken before mu_
  mutable absl::Mutex mu_;
  std::vector<LivePtr> mounts_ ABSL_GUARDED_BY(mu_);
  bool used_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace agentfs::cli
