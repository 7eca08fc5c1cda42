// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: the snapshots that are taken before a command runs in a branch, or a tool edits it,
// so that it can be undone. A checkpoint is a snapshot without a name of its own whose message says
// what that was.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

enum class CheckpointFor : uint8_t { kRun, kExec, kTool };

// Which of them a branch keeps: one that any of the rules wants.
struct CheckpointPolicy {
  uint32_t keep_last = 50;    // the newest
  uint32_t keep_hourly = 24;  // the last of each of so many hours that have some
  uint32_t keep_daily = 14;   // and of so many days (UTC)
};

struct Checkpoint {
  SnapshotInfo snapshot;
  bool taken = false;  // now
};

// Snapshots the branch, unless it has not changed since its last checkpoint: that is the value
// then. What the kernel has of mapped files must have been flushed. In the store before any later
// change is; not synced.
Result<Checkpoint> TakeCheckpoint(Volume& volume, std::string_view branch, CheckpointFor what,
                                  std::string_view command);

// Deletes the branch's checkpoints that the policy does not keep, never its newest, and says how
// many those were. Snapshots with a name or a message of somebody's are none. The operations that
// were recorded meanwhile stay; gc reclaims the space.
Result<size_t> PruneCheckpoints(Volume& volume, std::string_view branch,
                                const CheckpointPolicy& policy);

bool IsCheckpoint(const SnapshotInfo& snapshot);
// The branch's newest.
std::optional<SnapshotInfo> LastCheckpoint(Volume& volume, std::string_view branch);

}  // namespace agentfs
