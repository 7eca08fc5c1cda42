// SPDX-License-Identifier: Apache-2.0
//
// Branches and snapshots.
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/clock.h"
#include "core/volume_impl.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr size_t kMaxRefName = 128;

// "s12" -> 12; 0 for anything else.
uint64_t SnapshotNumber(std::string_view ref) {
  if (ref.size() < 2 || ref[0] != 's' || ref[1] == '0') return 0;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(ref.data() + 1, ref.data() + ref.size(), number);
  return error == std::errc() && end == ref.data() + ref.size() ? number : 0;
}

std::string Quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

Error NotFound(std::string_view kind, std::string_view name) {
  return Error(ENOENT, std::string(kind) + " " + Quoted(name) + " does not exist");
}

}  // namespace

Result<void> CheckRefName(std::string_view name) {
  const auto bad = [&](const char* why) {
    return Error(EINVAL, "the name " + Quoted(name) + " cannot be used: " + why,
                 "use 1 to 128 of A-Z a-z 0-9 . _ - / and begin with none of - and .");
  };
  if (name.empty()) return bad("it is empty");
  if (name.size() > kMaxRefName) return bad("it is longer than 128 bytes");
  if (name[0] == '-' || name[0] == '.') return bad("it begins with a dash or a dot");
  for (const unsigned char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '.' && c != '_' && c != '-' && c != '/') {
      return bad("it has a character that is not allowed");
    }
  }
  if (name == "base") return bad("it stands for the base");
  if (SnapshotNumber(name) != 0) return bad("it looks like the id of a snapshot");
  return Ok();
}

// ---- finding

Result<VolumeImpl::Branch*> VolumeImpl::FindBranch(std::string_view name) {
  auto it = branches_.find(name);
  if (it == branches_.end()) return NotFound("branch", name);
  return &it->second;
}

SnapshotInfo* VolumeImpl::FindSnapshot(std::string_view ref) {
  uint64_t number = SnapshotNumber(ref);
  if (auto it = snapshot_numbers_.find(ref); it != snapshot_numbers_.end()) number = it->second;
  auto it = snapshots_.find(number);
  return it == snapshots_.end() ? nullptr : &it->second;
}

Result<void> VolumeImpl::CheckNewName(std::string_view name) {
  AGENTFS_TRY(CheckRefName(name));
  if (branches_.contains(name)) {
    return Error(EEXIST, "there is already a branch " + Quoted(name));
  }
  if (snapshot_numbers_.contains(name)) {
    return Error(EEXIST, "there is already a snapshot " + Quoted(name));
  }
  return Ok();
}

Result<Layer*> VolumeImpl::ResolveSealed(std::string_view ref) {
  if (auto it = branches_.find(ref); it != branches_.end()) return Seal(it->first, it->second);
  LayerId id = kRootLayer;
  if (ref != "base") {
    SnapshotInfo* snapshot = FindSnapshot(ref);
    if (snapshot == nullptr) return NotFound("branch or snapshot", ref);
    id = snapshot->layer;
  }
  absl::ReaderMutexLock lock(&state_->tree_mu);
  return state_->tree.Find(id);
}

// ---- layers

Layer* VolumeImpl::AddLayer(Layer* parent) {
  absl::MutexLock lock(&state_->tree_mu);
  return state_->tree.Add(LayerId(state_->layers.Take()), parent, ToNanoseconds(Now()));
}

Result<void> VolumeImpl::LookForRows(Layer* layer) {
  if (!layer->loaded || layer->has_rows) return Ok();
  // Every change of a layer puts the record of a node.
  bool found = false;
  const std::string prefix = KeyInt(layer->id.value);
  AGENTFS_TRY(state_->store->Scan(
      ScanRange{tables::kNodes, prefix, {}, {}, Order::kAscending, true}, [&](const RowView&) {
        found = true;
        return Visit::kStop;
      }));
  layer->loaded = false;
  if (found) layer->has_rows = true;
  return Ok();
}

Result<Layer*> VolumeImpl::Seal(const std::string& name, Branch& branch) {
  if (branch.view != nullptr) branch.view->SettleHostWriters();
  AGENTFS_TRY(LookForRows(branch.layer));
  Journal::Exclusive exclusive(*state_->journal);
  Layer* sealed = branch.layer;
  if (!sealed->has_rows) return sealed->parent;
  Layer* open = AddLayer(sealed);
  sealed->sealed = true;
  --sealed->names;
  ++open->names;
  branch.layer = open;
  if (branch.view != nullptr) branch.view->nodes().SealInto(open);
  exclusive.Put(tables::kLayers, LayerKey(sealed->id), EncodeLayer(VolumeState::RecordOf(*sealed)));
  exclusive.Put(tables::kLayers, LayerKey(open->id), EncodeLayer(VolumeState::RecordOf(*open)));
  exclusive.Put(tables::kBranches, NameKey(name), EncodeBranch(open->id, branch.created_ns));
  state_->growing.EndLayer(exclusive, sealed->id);
  sealed->sealed_batch = state_->journal->AppendedBatch();
  return sealed;
}

// ---- branches

BranchInfo VolumeImpl::InfoOf(const std::string& name, const Branch& branch) const {
  BranchInfo info;
  info.name = name;
  info.layer = branch.layer->id;
  info.parent = branch.layer->parent ? branch.layer->parent->id : LayerId();
  if (info.parent == kRootLayer) info.parent = LayerId();
  info.created = FromNanoseconds(branch.created_ns);
  info.in_use = branch.view != nullptr && branch.view->handles.load() > 0;
  return info;
}

Result<BranchInfo> VolumeImpl::CreateBranch(std::string_view name, std::string_view ref) {
  absl::MutexLock lock(&mu_);
  AGENTFS_TRY(CheckNewName(name));
  const uint64_t limit = state_->options.limits.max_branches;
  if (limit != 0 && branches_.size() >= limit) {
    return Error(EDQUOT, "there are already " + std::to_string(limit) + " branches, the limit",
                 "delete one, or raise max_branches");
  }
  AGENTFS_TRY(state_->journal->Admit(Growth::kGrows));
  AGENTFS_ASSIGN(Layer * parent, ResolveSealed(ref));
  Layer* open = AddLayer(parent);
  open->names = 1;
  const int64_t now = ToNanoseconds(Now());
  Branch& branch = branches_[std::string(name)];
  branch.layer = open;
  branch.created_ns = now;
  {
    Journal::Exclusive exclusive(*state_->journal);
    exclusive.Put(tables::kLayers, LayerKey(open->id), EncodeLayer(VolumeState::RecordOf(*open)));
    exclusive.Put(tables::kBranches, NameKey(name), EncodeBranch(open->id, now));
  }
  return InfoOf(std::string(name), branch);
}

Result<void> VolumeImpl::DeleteBranch(std::string_view name) {
  absl::MutexLock lock(&mu_);
  AGENTFS_ASSIGN(Branch * branch, FindBranch(name));
  if (branch->view != nullptr && branch->view->handles.load() > 0) {
    return Error(EBUSY, "branch " + Quoted(name) + " is in use",
                 "end what runs in it, then delete it");
  }
  if (name == kMainBranch) {
    return Error(EBUSY, "branch 'main' is the one that everything starts from",
                 "discard its changes instead");
  }
  if (branch->view != nullptr) {
    // What is pending refers to the view's nodes.
    AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  }
  Journal::Exclusive exclusive(*state_->journal);
  exclusive.Delete(tables::kBranches, NameKey(name));
  state_->growing.EndLayer(exclusive, branch->layer->id);
  --branch->layer->names;
  branches_.erase(branches_.find(name));
  return Ok();
}

std::vector<BranchInfo> VolumeImpl::ListBranches() {
  absl::MutexLock lock(&mu_);
  std::vector<BranchInfo> list;
  list.reserve(branches_.size());
  for (const auto& [name, branch] : branches_) list.push_back(InfoOf(name, branch));
  return list;
}

// ---- snapshots

Result<SnapshotInfo> VolumeImpl::CreateSnapshot(std::string_view branch_name, std::string_view name,
                                                std::string_view message, Durability durability) {
  SnapshotInfo info;
  {
    absl::MutexLock lock(&mu_);
    AGENTFS_ASSIGN(Branch * branch, FindBranch(branch_name));
    if (!name.empty()) AGENTFS_TRY(CheckNewName(name));
    const uint64_t limit = state_->options.limits.max_snapshots;
    if (limit != 0 && snapshots_.size() >= limit) {
      return Error(EDQUOT, "there are already " + std::to_string(limit) + " snapshots, the limit",
                   "delete one, or raise max_snapshots");
    }
    AGENTFS_TRY(state_->journal->Admit(Growth::kGrows));
    AGENTFS_ASSIGN(Layer * sealed, Seal(std::string(branch_name), *branch));
    ++sealed->names;
    info.number = state_->snapshots.Take();
    info.name = name.empty() ? "s" + std::to_string(info.number) : std::string(name);
    info.layer = sealed->id;
    info.branch = std::string(branch_name);
    info.message = std::string(message);
    info.created = Now();
    snapshots_[info.number] = info;
    snapshot_numbers_[info.name] = info.number;
    Journal::Exclusive exclusive(*state_->journal);
    exclusive.Put(tables::kSnapshots, SnapshotKey(info.number),
                  EncodeSnapshot({info.name, info.layer, info.branch, info.message,
                                  ToNanoseconds(info.created)}));
  }
  if (durability == Durability::kSynced) AGENTFS_TRY(state_->journal->Flush(durability));
  return info;
}

Result<void> VolumeImpl::DeleteSnapshot(std::string_view ref) {
  absl::MutexLock lock(&mu_);
  SnapshotInfo* snapshot = FindSnapshot(ref);
  if (snapshot == nullptr) return NotFound("snapshot", ref);
  const uint64_t number = snapshot->number;
  {
    absl::ReaderMutexLock tree_lock(&state_->tree_mu);
    --state_->tree.Find(snapshot->layer)->names;
  }
  snapshot_numbers_.erase(snapshot->name);
  snapshots_.erase(number);
  Journal::Exclusive exclusive(*state_->journal);
  exclusive.Delete(tables::kSnapshots, SnapshotKey(number));
  return Ok();
}

std::vector<SnapshotInfo> VolumeImpl::ListSnapshots() {
  absl::MutexLock lock(&mu_);
  std::vector<SnapshotInfo> list;
  list.reserve(snapshots_.size());
  for (const auto& [number, info] : snapshots_) list.push_back(info);
  return list;
}

Result<void> VolumeImpl::FollowBase(std::string_view branch, const std::vector<std::string>& paths,
                                    FollowMode mode) {
  if (state_->base == nullptr) return Error(EINVAL, "there is no base");
  View* view = nullptr;
  AGENTFS_ASSIGN(const std::shared_ptr<FileSystem> held, OpenBranch(branch));
  {
    absl::MutexLock lock(&mu_);
    AGENTFS_ASSIGN(Branch * found, FindBranch(branch));
    view = found->view.get();
  }
  for (const std::string& path : paths) {
    auto followed = view->FollowBase(path, mode);
    if (!followed.ok()) return followed.error().WithContext(path);
  }
  return Ok();
}

Result<void> VolumeImpl::Restore(std::string_view name, std::string_view ref) {
  absl::MutexLock lock(&mu_);
  AGENTFS_ASSIGN(Branch * branch, FindBranch(name));
  AGENTFS_TRY(state_->journal->Admit(Growth::kGrows));
  AGENTFS_ASSIGN(Layer * target, ResolveSealed(ref));
  // The view will read everything anew from the store.
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  Layer* open = AddLayer(target);
  open->names = 1;
  auto swap = [&] {
    Journal::Exclusive exclusive(*state_->journal);
    --branch->layer->names;
    state_->growing.EndLayer(exclusive, branch->layer->id);
    branch->layer = open;
    exclusive.Put(tables::kLayers, LayerKey(open->id), EncodeLayer(VolumeState::RecordOf(*open)));
    exclusive.Put(tables::kBranches, NameKey(name), EncodeBranch(open->id, branch->created_ns));
  };
  if (branch->view == nullptr) {
    swap();
    return Ok();
  }
  branch->view->WithoutOperations([&] {
    const uint64_t batch = state_->journal->AppendedBatch();
    swap();
    branch->view->Reset(open, batch);
  });
  return Ok();
}

}  // namespace agentfs
