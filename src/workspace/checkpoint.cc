// SPDX-License-Identifier: Apache-2.0
#include "workspace/checkpoint.h"

#include <algorithm>
#include <vector>

namespace agentfs {
namespace {

constexpr std::string_view kBeforeRun = "before run: ";
constexpr std::string_view kBeforeExec = "before exec: ";
constexpr size_t kMaxCommandText = 200;

std::string MessageFor(CheckpointFor what, std::string_view command) {
  std::string message(what == CheckpointFor::kRun ? kBeforeRun : kBeforeExec);
  message += command.substr(0, kMaxCommandText);
  if (command.size() > kMaxCommandText) message += "...";
  return message;
}

std::vector<SnapshotInfo> CheckpointsOf(Volume& volume, std::string_view branch) {
  std::vector<SnapshotInfo> found;
  for (SnapshotInfo& snapshot : volume.ListSnapshots()) {
    if (snapshot.branch == branch && IsCheckpoint(snapshot)) found.push_back(std::move(snapshot));
  }
  return found;
}

Result<bool> IsUnchangedSince(Volume& volume, std::string_view branch,
                              const SnapshotInfo& snapshot) {
  AGENTFS_ASSIGN(const Touched touched, volume.TouchedBetween(snapshot.name, branch));
  return touched.names.empty() && touched.nodes.empty();
}

}  // namespace

bool IsCheckpoint(const SnapshotInfo& snapshot) {
  return snapshot.name == "s" + std::to_string(snapshot.number) &&
         (snapshot.message.starts_with(kBeforeRun) || snapshot.message.starts_with(kBeforeExec));
}

std::optional<SnapshotInfo> LastCheckpoint(Volume& volume, std::string_view branch) {
  std::vector<SnapshotInfo> all = CheckpointsOf(volume, branch);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

Result<Checkpoint> TakeCheckpoint(Volume& volume, std::string_view branch, CheckpointFor what,
                                  std::string_view command) {
  const std::vector<SnapshotInfo> before = CheckpointsOf(volume, branch);
  if (!before.empty()) {
    AGENTFS_ASSIGN(const bool unchanged, IsUnchangedSince(volume, branch, before.back()));
    if (unchanged) return Checkpoint{before.back(), false};
  }
  Checkpoint taken;
  taken.taken = true;
  AGENTFS_ASSIGN(taken.snapshot,
                 volume.CreateSnapshot(branch, "", MessageFor(what, command), Durability::kNone));
  for (size_t i = 0; i + kKeptCheckpoints <= before.size(); ++i) {
    // One that somebody has deleted meanwhile is gone as well.
    (void)volume.DeleteSnapshot(before[i].name);
  }
  return taken;
}

}  // namespace agentfs
