// SPDX-License-Identifier: Apache-2.0
#include "cli/permissions.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include "exec/policy_files.h"
#include "vfs/guarded_fs.h"

namespace agentfs::cli {

// Tells versions of the files apart, without reading them.
std::string Permissions::Stamp() const {
  std::string stamp;
  for (const PolicyFile& file : PolicyFiles(workspace_)) {
    struct stat is = {};
    if (::stat(file.path.c_str(), &is) != 0) {
      stamp += "none;";
      continue;
    }
    stamp += fmt::format("{}:{}:{}.{}:{}.{};", is.st_ino, is.st_size, is.st_mtim.tv_sec,
                         is.st_mtim.tv_nsec, is.st_ctim.tv_sec, is.st_ctim.tv_nsec);
  }
  return stamp;
}

Result<bool> Permissions::Refresh() {
  absl::MutexLock lock(&mu_);
  std::string stamp = Stamp();
  if (stamp == stamp_) return false;
  AGENTFS_ASSIGN(const policy::PolicySet policies, LoadPolicies(workspace_));
  auto permissions = policies.Permissions();
  const bool other = permissions != nullptr || rules_->Get() != nullptr;
  rules_->Set(std::move(permissions));
  stamp_ = std::move(stamp);
  return other;
}

std::shared_ptr<FileSystem> Permissions::Guard(std::shared_ptr<FileSystem> view) const {
  return std::make_shared<GuardedFs>(std::move(view), rules_);
}

}  // namespace agentfs::cli
