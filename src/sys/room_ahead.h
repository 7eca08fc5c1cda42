// SPDX-License-Identifier: Apache-2.0
//
// Room at the end of a file that is synced again and again while it grows, like a log.
//
// Where a sync finds blocks that the file did not have before, the host's filesystem has to write
// where they are. So such a file gets blocks ahead of what is written next, many at a time. Its
// size stays exact: what a crash leaves of it is what was written.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs {

// Of one file that nobody else writes. Thread-safe.
class RoomAhead {
 public:
  // To be called before each sync. Makes room if the file has grown before several of them. What
  // fails (a full disk, a host without such room) is left: room is never needed.
  void MakeIfGrowing(int fd) ABSL_LOCKS_EXCLUDED(mu_);
  // The file was cut, and its room with it.
  void Gone() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether some was made.
  bool made() const { return made_.load(std::memory_order_relaxed); }
  // Frees what nothing was written to. When nobody writes the file any more.
  static void GiveBack(int fd);

 private:
  absl::Mutex mu_;  // a leaf
  int growths_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t end_ ABSL_GUARDED_BY(mu_) = 0;  // up to here a write needs no new blocks
  std::atomic<bool> made_{false};
};

}  // namespace agentfs
