// SPDX-License-Identifier: Apache-2.0
//
// The control plane as library calls: what may be done to branches and snapshots, with the mounts
// and subscribers taken into account. The socket, the mount's control file and the command line all
// come here.
#pragma once

#include <string_view>

#include "adapters/control/events.h"
#include "adapters/control/mount_host.h"
#include "agentfs/volume.h"
#include "workspace/checkpoint.h"
#include "workspace/follow_paths.h"

namespace agentfs::control {

// Thread-safe. All that it is given must outlive it. Errors are the volume's.
class Operations {
 public:
  // `mounts` and `events` may be null: there are none.
  Operations(Volume& volume, MountHost* mounts, EventHub* events)
      : volume_(volume), mounts_(mounts), events_(events) {}

  // Before anybody else uses it: which checkpoints of a branch stay when it gets another.
  void KeepCheckpoints(const CheckpointPolicy& policy) { checkpoints_ = policy; }

  Volume& volume() { return volume_; }
  MountHost* mounts() { return mounts_; }
  EventHub* events() { return events_; }

  // Everything that returned before is in it, stores to shared mappings included. On stable storage
  // when it returns.
  Result<SnapshotInfo> CreateSnapshot(std::string_view branch, std::string_view name,
                                      std::string_view message);
  Result<void> DeleteSnapshot(std::string_view ref);
  Result<BranchInfo> CreateBranch(std::string_view name, std::string_view ref);
  Result<void> DeleteBranch(std::string_view name);
  // Makes `branch` what `ref` was; mounts show it when this returns. What it replaces is
  // snapshotted first, and that snapshot is the value.
  Result<SnapshotInfo> Restore(std::string_view branch, std::string_view ref);
  // agentfs::TakeCheckpoint of what programs have written so far; those that need not stay go.
  Result<Checkpoint> TakeCheckpoint(std::string_view branch, CheckpointFor what,
                                    std::string_view command);
  // Prepares a run: the branch, the checkpoint for undo, the session. EOPNOTSUPP without mounts.
  Result<RunState> BeginRun(RunRequest request);
  // Before its connection does.
  void EndRun(uint64_t connection);
  // What the connection's run does belongs to the exec; none: recorded as the workspace is set.
  void NoteExec(uint64_t connection, uint64_t exec, std::optional<AuditLevel> level = std::nullopt);
  // For files of branches that mounts only remember; empty without mounts.
  NamesForgetter Forgetter();
  // Everything so far is on stable storage when this returns.
  Result<void> Flush();
  // What programs have stored to shared mappings is in the branch when this returns.
  Result<void> FlushPages(std::string_view branch);

 private:
  void Publish(EventKind kind, std::string_view branch, std::string_view name);

  Volume& volume_;
  MountHost* const mounts_;
  EventHub* const events_;
  CheckpointPolicy checkpoints_;
};

}  // namespace agentfs::control
