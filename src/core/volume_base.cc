// SPDX-License-Identifier: Apache-2.0
//
// Changes of the base, told to the observers of every view; and what layers need of its former
// content.
#include <sys/stat.h>

#include "core/volume_impl.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

bool IsOverBase(const NodeRecord& record) { return record.has_base && record.nlink != 0; }

}  // namespace

NodeId VolumeImpl::BaseNodeAt(const std::string& path) {
  if (path.empty()) return kRootNode;
  Result<BaseStat> stat = state_->base->Stat(path);
  return stat.ok() ? BaseNodeId(stat->identity) : NodeId();
}

void VolumeImpl::BaseChanged(const std::string& directory, std::string_view name) {
  state_->base_changes.fetch_add(1);
  ChangeEvent event{.kind = ChangeEvent::Kind::kBase};
  event.parent = BaseNodeAt(directory);
  event.name = name;
  event.node = name.empty() ? event.parent : BaseNodeAt(JoinBasePath(directory, name));
  if (event.parent) TellViews(event);
}

void VolumeImpl::BaseLost() {
  state_->base_changes.fetch_add(1);
  TellViews({.kind = ChangeEvent::Kind::kReset});
}

void VolumeImpl::TellViews(const ChangeEvent& event) {
  absl::MutexLock lock(&mu_);
  for (auto& [name, branch] : branches_) {
    if (branch.view != nullptr) branch.view->Tell(event);
  }
  for (auto& [layer, view] : snapshot_views_) view->Tell(event);
}

Result<bool> VolumeImpl::AnyRecord(NodeId node,
                                   const std::function<bool(const NodeRecord&)>& needs) {
  bool found = false;
  const std::string prefix = KeyInt(node.value);
  AGENTFS_TRY(
      state_->store->Scan({.table = tables::kNodes, .prefix = prefix}, [&](const RowView& row) {
        NodeRecord record;
        found = DecodeNode(row.value, &record) && needs(record);
        return found ? Visit::kStop : Visit::kContinue;
      }));
  return found;
}

Result<std::vector<std::string>> VolumeImpl::KeptNames(const std::vector<std::string>& paths) {
  std::vector<std::string> names(paths.size());
  if (state_->base == nullptr || state_->options.kept_directory.empty()) return names;
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  for (size_t i = 0; i < paths.size(); ++i) {
    Result<BaseStat> stat = state_->base->Stat(paths[i]);
    if (!stat.ok() || !S_ISREG(stat->attr.mode)) continue;
    const NodeId node = BaseNodeId(stat->identity);
    if (!state_->changed_base_nodes.Contains(node)) continue;
    AGENTFS_ASSIGN(const bool needed, AnyRecord(node, [&](const NodeRecord& record) {
                     return NeedsBase(record, stat->signature);
                   }));
    if (needed) names[i] = KeptName(stat->identity, stat->signature);
  }
  return names;
}

Result<std::vector<uint64_t>> VolumeImpl::MovableIdentities(const std::vector<std::string>& paths) {
  std::vector<uint64_t> identities(paths.size(), 0);
  if (state_->base == nullptr || state_->options.kept_directory.empty()) return identities;
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  for (size_t i = 0; i < paths.size(); ++i) {
    Result<BaseStat> stat = state_->base->Stat(paths[i]);
    if (!stat.ok() || !state_->changed_base_nodes.Contains(BaseNodeId(stat->identity))) continue;
    AGENTFS_ASSIGN(const bool known, AnyRecord(BaseNodeId(stat->identity), IsOverBase));
    if (known) identities[i] = MoveKey(BaseNodeId(stat->identity));
  }
  return identities;
}

// What is noted of where the base has a node now.
Result<std::string> VolumeImpl::PlaceIn(NodeId node, const std::string& path) {
  if ((node.value & kBaseNodeBit) != 0) return path;
  AGENTFS_ASSIGN(const BaseStat stat, state_->base->Stat(path));
  return OwnPlace{stat.identity, path}.note();
}

Result<void> VolumeImpl::BaseMoved(uint64_t identity, const std::string& path) {
  const NodeId node = NodeOfMove(identity);
  const Result<std::string> place = PlaceIn(node, path);
  if (!place.ok()) return MeansAbsent(place.code()) ? Ok() : Result<void>(place.error());
  AGENTFS_TRY(state_->kept.Moved(identity, *place));
  absl::MutexLock lock(&mu_);
  for (auto& [name, branch] : branches_) {
    if (branch.view != nullptr) branch.view->BaseMoved(node);
  }
  for (auto& [layer, view] : snapshot_views_) view->BaseMoved(node);
  return Ok();
}

// A branch that was told of its own directory's move has its names again as they were before it.
Result<void> VolumeImpl::BaseMovedBack(uint64_t identity, const std::string& path) {
  const NodeId node = NodeOfMove(identity);
  if ((node.value & kBaseNodeBit) != 0) return BaseMoved(identity, path);
  const Result<std::string> place = PlaceIn(node, path);
  if (!place.ok() && !MeansAbsent(place.code())) return place.error();
  absl::MutexLock lock(&mu_);
  if (place.ok()) {
    AGENTFS_TRY(state_->kept.Moved(identity, *place));
    for (auto& [layer, view] : snapshot_views_) view->BaseMoved(node);
  }
  state_->kept.ForgetMove(identity);
  return Ok();
}

Result<uint64_t> VolumeImpl::CollectKept() {
  return state_->kept.Collect([&](uint64_t identity, const std::string& name) {
    if (name.empty()) return AnyRecord(NodeOfMove(identity), IsOverBase);
    return AnyRecord(BaseNodeId(identity), [&](const NodeRecord& record) {
      return NeedsBase(record, record.base_signature) &&
             KeptName(identity, record.base_signature) == name;
    });
  });
}

}  // namespace agentfs
