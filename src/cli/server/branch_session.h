// SPDX-License-Identifier: Apache-2.0
//
// One mount with all branches of a workspace, from which processes are given theirs: a branch's
// directory there is bind-mounted into the mount namespace of a process.
#pragma once

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
#include "vfs/rules_in_force.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// What tells the sessions of a workspace apart.
struct SessionKind {
  std::string name;  // in the mount point's; empty for the plain one
  fuse::Profile profile = fuse::Profile::kDefault;
  std::vector<std::string> hidden = {};  // paths of the views that none of its branches shows
};

// Where a workspace's session is mounted: a directory of this user's alone, outside of the base, so
// that who walks the base does not meet all branches. Made if it is missing.
Result<std::string> MakeSessionPoint(const Layout& layout, const std::string& name);

// Where that may be: for nobody to look into who is to see less than all branches.
std::vector<std::string> SessionPlaces();

// Thread-safe. What it is given must outlive it.
//
// It is mounted when first asked for. Once its mount point is taken away it goes on for the
// processes that have a branch of it, until the last has gone; a new one can be mounted meanwhile.
class BranchSession {
 public:
  using ServedPtr = std::shared_ptr<fuse::Mount>;

  // `ended` is called by a thread of its own when the last user has gone.
  BranchSession(Volume& volume, const Layout& layout, std::shared_ptr<const RulesInForce> rules,
                control::ChangeEvents& changes, SessionKind kind, fuse::Wanted wanted,
                std::function<void()> ended);
  ~BranchSession();  // users get errors
  // Before it is first asked for.
  void SetControl(fuse::ControlHandler control) { control_ = std::move(control); }

  // The directory with branches/NAME.
  Result<std::string> Root() ABSL_LOCKS_EXCLUDED(mu_);
  Result<control::BindState> Bind(const control::BindRequest& request);
  // Who is where, by /proc.
  std::vector<control::BoundProcess> ListBound() const;
  // Where it is mounted; empty: nowhere.
  std::string point() const ABSL_LOCKS_EXCLUDED(mu_);
  // The one that is mounted, and those that are used yet.
  std::vector<ServedPtr> All() const ABSL_LOCKS_EXCLUDED(mu_);
  ServedPtr Mounted() const ABSL_LOCKS_EXCLUDED(mu_);

  // Nothing of it is left.
  bool empty() const ABSL_LOCKS_EXCLUDED(mu_);
  // Takes the mount point away, if nobody uses it there. EBUSY, or whatever unmounting says.
  Result<void> Detach(fuse::UnmountMode mode) ABSL_LOCKS_EXCLUDED(mu_);
  // Users get errors.
  void End() ABSL_LOCKS_EXCLUDED(mu_);
  // Lets go of a branch that nobody uses; false: somebody does.
  bool Release(std::string_view branch);
  // Lets go of what the last user has gone from.
  void DropEnded() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // A mount and the thread that waits for its end.
  class Served;

  Result<std::shared_ptr<Served>> Start() const;
  Result<void> CheckTarget(const control::BindRequest& request, uint32_t uid,
                           uint64_t mount_namespace) const;

  Volume& volume_;
  const Layout& layout_;
  const std::shared_ptr<const RulesInForce> rules_;
  control::ChangeEvents& changes_;
  const SessionKind kind_;
  const fuse::Wanted wanted_;
  const std::function<void()> ended_;
  fuse::ControlHandler control_;
  mutable absl::Mutex mu_;  // held while it is mounted
  std::shared_ptr<Served> mounted_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Served>> detached_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::cli
