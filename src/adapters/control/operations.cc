// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/operations.h"

#include <unistd.h>

#include <algorithm>

#include "sys/own_namespace.h"
#include "workspace/checkpoint.h"

namespace agentfs::control {
namespace {

bool HasBranch(Volume& volume, std::string_view name) {
  const std::vector<BranchInfo> all = volume.ListBranches();
  return std::any_of(all.begin(), all.end(),
                     [&](const BranchInfo& branch) { return branch.name == name; });
}

}  // namespace

Result<void> Operations::FlushPages(std::string_view branch) {
  return mounts_ ? mounts_->FlushPages(branch) : Ok();
}

void Operations::Publish(EventKind kind, std::string_view branch, std::string_view name) {
  if (events_ == nullptr || !events_->HasSubscribers()) return;
  Event event;
  event.kind = kind;
  event.branch = branch;
  event.name = name;
  events_->Publish(event);
}

Result<SnapshotInfo> Operations::CreateSnapshot(std::string_view branch, std::string_view name,
                                                std::string_view message) {
  AGENTFS_TRY(FlushPages(branch));
  AGENTFS_ASSIGN(SnapshotInfo snapshot,
                 volume_.CreateSnapshot(branch, name, message, Durability::kSynced));
  Publish(EventKind::kSnapshotCreated, branch, snapshot.name);
  return snapshot;
}

Result<void> Operations::DeleteSnapshot(std::string_view ref) {
  std::string branch;
  if (events_ != nullptr && events_->HasSubscribers()) {
    for (const SnapshotInfo& each : volume_.ListSnapshots()) {
      if (each.name == ref || "s" + std::to_string(each.number) == ref) branch = each.branch;
    }
  }
  AGENTFS_TRY(volume_.DeleteSnapshot(ref));
  Publish(EventKind::kSnapshotDeleted, branch, ref);
  return Ok();
}

Result<BranchInfo> Operations::CreateBranch(std::string_view name, std::string_view ref) {
  AGENTFS_TRY(FlushPages(ref));
  AGENTFS_ASSIGN(BranchInfo branch, volume_.CreateBranch(name, ref));
  Publish(EventKind::kBranchCreated, name, ref);
  return branch;
}

Result<void> Operations::DeleteBranch(std::string_view name) {
  auto deleted = volume_.DeleteBranch(name);
  if (deleted.code() == EBUSY && mounts_ && mounts_->Release(name)) {
    deleted = volume_.DeleteBranch(name);
  }
  AGENTFS_TRY(std::move(deleted));
  Publish(EventKind::kBranchDeleted, name, "");
  return Ok();
}

Result<SnapshotInfo> Operations::Restore(std::string_view branch, std::string_view ref) {
  // Pages that came later would mix what was with what is restored.
  AGENTFS_TRY(FlushPages(branch));
  AGENTFS_ASSIGN(SnapshotInfo before,
                 volume_.CreateSnapshot(branch, "", "before restore of " + std::string(ref),
                                        Durability::kNone));
  auto restored = volume_.Restore(branch, ref);
  if (!restored.ok()) {
    (void)volume_.DeleteSnapshot(before.name);
    return restored.error();
  }
  if (mounts_) mounts_->BranchReplaced(branch);
  AGENTFS_TRY(volume_.Flush(Durability::kSynced));
  Publish(EventKind::kBranchRestored, branch, ref);
  return before;
}

Result<Checkpoint> Operations::TakeCheckpoint(std::string_view branch, CheckpointFor what,
                                              std::string_view command) {
  AGENTFS_TRY(FlushPages(branch));
  AGENTFS_ASSIGN(Checkpoint checkpoint, agentfs::TakeCheckpoint(volume_, branch, what, command));
  AGENTFS_TRY(PruneCheckpoints(volume_, branch, checkpoints_));
  return checkpoint;
}

Result<RunState> Operations::BeginRun(RunRequest request) {
  if (mounts_ == nullptr) return Error(EOPNOTSUPP, "there are no mounts here");
  RunState state;
  state.branch = request.branch;
  auto made = HasBranch(volume_, request.branch) ? Result<BranchInfo>(Error(EEXIST))
                                                 : CreateBranch(request.branch, kMainBranch);
  // Another run may have made it meanwhile.
  if (!made.ok() && made.code() != EEXIST) return made.error();
  state.created = made.ok();
  AGENTFS_ASSIGN(const Checkpoint before,
                 TakeCheckpoint(request.branch, request.what, request.command));
  state.checkpoint = before.snapshot.name;
  state.checkpoint_number = before.snapshot.number;
  state.checkpoint_taken = before.taken;
  AGENTFS_ASSIGN(state.session, mounts_->BeginRun(request));
  if (IsInOwnNamespace()) state.namespaces_of = static_cast<uint32_t>(::getpid());
  return state;
}

void Operations::EndRun(uint64_t connection) {
  if (mounts_) mounts_->EndRun(connection);
}

void Operations::NoteExec(uint64_t connection, uint64_t exec, std::optional<AuditLevel> level) {
  if (mounts_ == nullptr) return;
  const AuditLevel wanted = level.value_or(volume_.GetAuditLevel());
  if (wanted != AuditLevel::kOff) volume_.StartRecording();
  mounts_->NoteExec(connection, exec, wanted);
}

NamesForgetter Operations::Forgetter() {
  if (mounts_ == nullptr) return {};
  return [this](const std::string& branch, const std::vector<Touched::Name>& names) {
    mounts_->Forget(branch, names);
  };
}

Result<void> Operations::Flush() {
  if (mounts_) {
    for (const BranchInfo& branch : volume_.ListBranches()) {
      if (branch.in_use) AGENTFS_TRY(mounts_->FlushPages(branch.name));
    }
  }
  return volume_.Flush(Durability::kSynced);
}

}  // namespace agentfs::control
