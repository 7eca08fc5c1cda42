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

// Takes the first of each of the first `count` spans of time that it is shown.
class Slots {
 public:
  Slots(uint32_t count, int64_t seconds) : left_(count), seconds_(seconds) {}
  bool Takes(const Timestamp& time) {
    const int64_t span = time.sec / seconds_;
    if (left_ == 0 || last_ == span) return false;
    last_ = span;
    --left_;
    return true;
  }

 private:
  uint32_t left_;
  const int64_t seconds_;
  std::optional<int64_t> last_;
};

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
  return taken;
}

Result<size_t> PruneCheckpoints(Volume& volume, std::string_view branch,
                                const CheckpointPolicy& policy) {
  std::vector<SnapshotInfo> all = CheckpointsOf(volume, branch);
  std::ranges::reverse(all);
  Slots hours(policy.keep_hourly, 3600), days(policy.keep_daily, 86400);
  size_t pruned = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    // Each rule has to see every one.
    const bool hourly = hours.Takes(all[i].created), daily = days.Takes(all[i].created);
    if (i == 0 || i < policy.keep_last || hourly || daily) continue;
    auto deleted = volume.DeleteSnapshot(all[i].name);
    // One that somebody has deleted meanwhile is gone as well.
    if (!deleted.ok() && deleted.code() != ENOENT) return deleted.error();
    ++pruned;
  }
  return pruned;
}

}  // namespace agentfs
