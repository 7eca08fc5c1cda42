// SPDX-License-Identifier: Apache-2.0
//
// The filesystem permissions of the policies in force, for whatever shows views of a workspace to
// programs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "vfs/rules_in_force.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// Thread-safe. The workspace must outlive it.
class Permissions {
 public:
  explicit Permissions(const Workspace& workspace) : workspace_(workspace) {}

  // Reads the policies if a file of theirs has changed. True: other rules are in force than before,
  // and what programs' caches have must be dropped. EINVAL for what is no policy: the rules stay.
  Result<bool> Refresh() ABSL_LOCKS_EXCLUDED(mu_);
  std::shared_ptr<const RulesInForce> rules() const { return rules_; }
  // The view as far as the rules allow.
  std::shared_ptr<FileSystem> Guard(std::shared_ptr<FileSystem> view) const;

 private:
  std::string Stamp() const;

  const Workspace& workspace_;
  const std::shared_ptr<RulesInForce> rules_ = std::make_shared<RulesInForce>();
  absl::Mutex mu_;
  std::string stamp_ ABSL_GUARDED_BY(mu_);  // of the files as they were read
};

}  // namespace agentfs::cli
