// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: the snapshots that are taken before a command runs in a branch, so that it can be
// undone. A checkpoint is a snapshot without a name of its own whose message says what ran.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

enum class CheckpointFor : uint8_t { kRun, kExec };

// How many of them a branch keeps.
inline constexpr size_t kKeptCheckpoints = 50;

struct Checkpoint {
  SnapshotInfo snapshot;
  bool taken = false;  // now
};

// Snapshots the branch, unless it has not changed since its last checkpoint: that is the value
// then. What the kernel has of mapped files must have been flushed. In the store before any later
// change is; not synced. Older ones than the last kKeptCheckpoints are deleted.
Result<Checkpoint> TakeCheckpoint(Volume& volume, std::string_view branch, CheckpointFor what,
                                  std::string_view command);

bool IsCheckpoint(const SnapshotInfo& snapshot);
// The branch's newest.
std::optional<SnapshotInfo> LastCheckpoint(Volume& volume, std::string_view branch);

}  // namespace agentfs
