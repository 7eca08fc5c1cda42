// SPDX-License-Identifier: Apache-2.0
#include "workspace/checkpoint.h"

#include <algorithm>
#include <vector>

namespace agentfs {
namespace {

// By CheckpointFor.
constexpr std::string_view kBefore[] = {"before run: ", "before exec: ", "before tool: "};
constexpr size_t kMaxCommandText = 200;

std::string MessageFor(CheckpointFor what, std::string_view command) {
  std::string message(kBefore[static_cast<size_t>(what)]);
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
         std::ranges::any_of(kBefore, [&](std::string_view before) {
           return snapshot.message.starts_with(before);
         });
}

std::optional<SnapshotInfo> LastCheckpoint(Volume& volume, std::string_view branch) {
  std::vector<SnapshotInfo> all = CheckpointsOf(volume, branch);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

Result<Checkpoint> TakeCheckpoint(Volume& volume, std::string_view branch, CheckpointFor what,
                                  std::string_view command) {
  const std::optional<SnapshotInfo> last = LastCheckpoint(volume, branch);
  // Looking flushes. Before an edit there usually was another: it is faster to take one and see.
  if (last && what != CheckpointFor::kTool) {
    AGENTFS_ASSIGN(const bool unchanged, IsUnchangedSince(volume, branch, *last));
    if (unchanged) return Checkpoint{*last, false};
  }
  Checkpoint taken;
  taken.taken = true;
  AGENTFS_ASSIGN(taken.snapshot,
                 volume.CreateSnapshot(branch, "", MessageFor(what, command), Durability::kNone));
  if (!last || taken.snapshot.layer != last->layer) return taken;
  // A branch without a change is not sealed again.
  AGENTFS_TRY(volume.DeleteSnapshot(taken.snapshot.name));
  return Checkpoint{*last, false};
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
