// SPDX-License-Identifier: Apache-2.0
//
// Changes of the base, told to the observers of every view.
#include "core/volume_impl.h"

namespace agentfs {

NodeId VolumeImpl::BaseNodeAt(const std::string& path) {
  if (path.empty()) return kRootNode;
  Result<BaseStat> stat = state_->base->Stat(path);
  return stat.ok() ? BaseNodeId(stat->identity) : NodeId();
}

void VolumeImpl::BaseChanged(const std::string& directory, std::string_view name) {
  ChangeEvent event{.kind = ChangeEvent::Kind::kBase};
  event.parent = BaseNodeAt(directory);
  event.name = name;
  event.node = name.empty() ? event.parent : BaseNodeAt(JoinBasePath(directory, name));
  if (event.parent) TellViews(event);
}

void VolumeImpl::BaseLost() { TellViews({.kind = ChangeEvent::Kind::kReset}); }

void VolumeImpl::TellViews(const ChangeEvent& event) {
  absl::MutexLock lock(&mu_);
  for (auto& [name, branch] : branches_) {
    if (branch.view != nullptr) branch.view->Tell(event);
  }
  for (auto& [layer, view] : snapshot_views_) view->Tell(event);
}

}  // namespace agentfs
