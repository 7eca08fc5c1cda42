// SPDX-License-Identifier: Apache-2.0
#include "cli/server/session_set.h"

#include <algorithm>

namespace agentfs::cli {

SessionSet::SessionSet(Make make) : make_(std::move(make)) {
  (void)Get(fuse::Profile::kDefault, {});
  (void)Get(fuse::Profile::kAudited, {});
}

BranchSession& SessionSet::Get(fuse::Profile profile, const std::vector<std::string>& hidden) {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<BranchSession>& session = sessions_[{profile, hidden}];
  if (!session) {
    SessionKind kind{profile == fuse::Profile::kAudited ? "audited" : "", profile, hidden};
    if (!hidden.empty()) {
      kind.name += (kind.name.empty() ? "hiding" : "-hiding") + std::to_string(sessions_.size());
    }
    session = make_(std::move(kind));
    session->SetControl(control_);
  }
  return *session;
}

std::vector<BranchSession*> SessionSet::All() const {
  std::vector<BranchSession*> all;
  absl::MutexLock lock(&mu_);
  for (const auto& [key, session] : sessions_) all.push_back(session.get());
  return all;
}

std::vector<BranchSession*> SessionSet::HidingOther(
    const std::vector<std::vector<std::string>>& wanted) const {
  std::vector<BranchSession*> others;
  absl::MutexLock lock(&mu_);
  for (const auto& [key, session] : sessions_) {
    if (key.second.empty()) continue;
    if (std::find(wanted.begin(), wanted.end(), key.second) == wanted.end()) {
      others.push_back(session.get());
    }
  }
  return others;
}

void SessionSet::SetControl(fuse::ControlHandler control) {
  absl::MutexLock lock(&mu_);
  for (const auto& [key, session] : sessions_) session->SetControl(control);
  control_ = std::move(control);
}

}  // namespace agentfs::cli
