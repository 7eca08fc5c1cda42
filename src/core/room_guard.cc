// SPDX-License-Identifier: Apache-2.0
#include "core/room_guard.h"

#include <algorithm>

namespace agentfs {
namespace {

// Others write to the disk, too: however much is free, it is looked at after so much.
constexpr uint64_t kMostBudget = uint64_t{256} << 20;
// A pending byte is written to a log, then to its place, with rows that tell who did it.
constexpr uint64_t kPendingFactor = 3;
// A disk with less than so many times what is kept is tight: what is kept must do for so many
// commits.
constexpr uint64_t kTightFactor = 2, kCommitsKept = 8;

// By how much `have` is more than `want`.
uint64_t Beyond(uint64_t have, uint64_t want) { return have > want ? have - want : 0; }

}  // namespace

Result<void> RoomGuard::Look(uint64_t cost, uint64_t pending) {
  const Store::Room room = store_.GetRoom();
  // Rows find a place within the store's files; a commit needs the disk also then.
  const uint64_t in_all = Beyond(room.disk + room.own, room.kept + kPendingFactor * pending + cost);
  const uint64_t on_disk = Beyond(room.disk, room.kept / 2 + pending + cost);
  const uint64_t left = std::min(in_all, on_disk);
  commit_bytes_.store(
      room.disk < kTightFactor * room.kept ? room.kept / kCommitsKept : Store::Room::kUnlimited,
      std::memory_order_relaxed);
  budget_.store(static_cast<int64_t>(std::min(left / 4, kMostBudget)), std::memory_order_relaxed);
  if (left == 0) {
    return Error(ENOSPC, "the disk that the workspace is on is full",
                 "free some space on it, or remove files or snapshots");
  }
  return Ok();
}

}  // namespace agentfs
