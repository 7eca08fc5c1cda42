// SPDX-License-Identifier: Apache-2.0
//
// The sessions of a workspace: one for most runs, and one for those that are to see something else
// at the same path. The kernel keeps what it was told of a session's names, so whoever is shown
// other names needs another session.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/fuse/mount.h"
#include "cli/server/branch_session.h"

namespace agentfs::cli {

// Thread-safe. A session stays as long as the set; mounted it is only when it is asked for.
class SessionSet {
 public:
  using Make = std::function<std::unique_ptr<BranchSession>(SessionKind kind)>;
  explicit SessionSet(Make make);

  // With `hidden`: paths of the views, in order; whoever wants the same gets the same session.
  BranchSession& Get(fuse::Profile profile, const std::vector<std::string>& hidden)
      ABSL_LOCKS_EXCLUDED(mu_);
  BranchSession& plain() { return Get(fuse::Profile::kDefault, {}); }
  std::vector<BranchSession*> All() const ABSL_LOCKS_EXCLUDED(mu_);
  // Those that hide what nobody in the list wants hidden.
  std::vector<BranchSession*> HidingOther(const std::vector<std::vector<std::string>>& wanted) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Of all, before any is mounted.
  void SetControl(fuse::ControlHandler control) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<fuse::Profile, std::vector<std::string>>;

  const Make make_;
  mutable absl::Mutex mu_;  // a leaf
  fuse::ControlHandler control_ ABSL_GUARDED_BY(mu_);
  std::map<Key, std::unique_ptr<BranchSession>> sessions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::cli
