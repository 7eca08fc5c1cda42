// SPDX-License-Identifier: Apache-2.0
//
// Room at the end of a file that is synced again and again while it grows, like a log.
//
// Where a sync finds the file longer than before, the host's filesystem has to commit its journal;
// where it finds only bytes changed that were there already, it does not. So such a file gets
// zeros ahead of what is written next, many at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs {

// Of one file that nobody else writes and whose bytes past the end count as zeros. Thread-safe.
class RoomAhead {
 public:
  // Held while the file is written up to `end`.
  class ABSL_SCOPED_LOCKABLE Writer {
   public:
    Writer(RoomAhead& room, uint64_t end) ABSL_SHARED_LOCK_FUNCTION(room.writing_) : room_(room) {
      room_.writing_.ReaderLock();
      room_.NoteEnd(end);
    }
    ~Writer() ABSL_UNLOCK_FUNCTION() { room_.writing_.ReaderUnlock(); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

   private:
    RoomAhead& room_;
  };

  // To be called before each sync. Makes room if the file has grown before several of them. What
  // fails (a full disk) is left: room is never needed.
  void MakeIfGrowing(int fd) ABSL_LOCKS_EXCLUDED(writing_);
  // Whether there is some that nothing was written to.
  bool spare() const { return room_end_ > end_.load(std::memory_order_relaxed); }
  // Shortens the file to what was written. When nobody writes it any more.
  void GiveBack(int fd);

 private:
  void NoteEnd(uint64_t end);

  std::atomic<uint64_t> end_{0};  // of what was written
  absl::Mutex writing_;           // shared by writers; exclusive while room is made
  absl::Mutex syncing_;           // before writing_
  int growths_ ABSL_GUARDED_BY(syncing_) = 0;
  std::atomic<uint64_t> room_end_{0};  // up to here a write does not lengthen the file
};

}  // namespace agentfs
