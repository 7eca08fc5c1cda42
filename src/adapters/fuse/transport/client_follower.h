// SPDX-License-Identifier: Apache-2.0
//
// Has the requests of a lone client served on the processor that the client runs on.
//
// A lone client and the thread that serves it never run at the same time, yet the scheduler puts
// each, when it is woken, onto a processor that is idle: two wake-ups of an idle processor for each
// request, which take longer than the request (decision 11). Bound to the client's processor, the
// serving thread stays there; but then the client goes, because its processor is busy when the
// answer wakes it. A processor with a thread of the policy SCHED_IDLE counts as idle, however: the
// client stays if the serving thread has that policy. The threads of io_uring are bound anyway,
// each to the processor whose requests it serves: there the policy is all.
//
// Such a thread gets next to nothing of a processor that somebody else wants, and it may hold locks
// then. So it is watched, every millisecond: if requests wait and nothing gets on, if the thread
// waits for a processor that its client does not use, if others send requests too, or when none
// come, the thread is made what it was before.
#pragma once

#include <linux/fuse.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "adapters/fuse/transport/client_streak.h"
#include "adapters/fuse/transport/reader_gate.h"
#include "sys/fd.h"

namespace agentfs::fuse {

// Of a request with these fixed arguments and so many bytes of data.
Sender SenderOf(const fuse_in_header& header, std::span<const char> arguments, size_t bytes);

// Thread-safe. Takes its lock, and under it the gate's.
class ClientFollower {
 public:
  // What a serving thread knows of the client that it follows. Used by that thread.
  struct Seat {
    int thread = 0;  // the serving thread's id
    ClientShare share{0};
    Fd client_state;     // /proc/CLIENT/stat
    int since_look = 0;  // requests since the client's processor was looked at
  };

  // For threads that all read `device`, through the gate. `nobody_reads` is called when the thread
  // that serves alone is held up and no other one waits. Device and gate outlive the follower.
  ClientFollower(int device, ReaderGate& gate, std::function<void()> nobody_reads);
  // For threads that are bound to processors, and have others beside them there.
  ClientFollower() = default;
  ~ClientFollower() { Stop(); }  // when no thread serves any more

  // All threads serve as usual from now on, and `nobody_reads` is called no more.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  // After a request was read. True: the calling thread serves alone. It keeps its place in the gate
  // while it handles this request, so that nobody else reads.
  bool Received(Seat& seat, const Sender& sender) ABSL_LOCKS_EXCLUDED(mu_);
  // After a request for which Received was true. False: the thread serves as others do again, and
  // leaves the gate.
  bool Finished(const Seat& seat);
  // Before the thread ends.
  void Ended(const Seat& seat) ABSL_LOCKS_EXCLUDED(mu_);

  uint64_t followed() const { return followed_.load(std::memory_order_relaxed); }

  // Whether this process may do what is needed and take it back: root may, and others whose
  // RLIMIT_NICE allows it. Not with one processor, where there is nothing to gain.
  static bool IsPossible();

 private:
  enum class Why { kQuiet, kOthers, kSlow, kHeldUp };

  bool Begin(Seat& seat, uint32_t client) ABSL_LOCKS_EXCLUDED(mu_);
  bool BeginLocked(Seat& seat, uint32_t client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool GoOn(Seat& seat, const Sender& sender) ABSL_LOCKS_EXCLUDED(mu_);
  // True: somebody else reads now, or will without being told.
  bool ReleaseLocked(Why why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Watch() ABSL_LOCKS_EXCLUDED(mu_);
  // False: the thread that served alone was held up, and nobody reads.
  bool LookLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The calling thread goes to that processor, if it is not bound to one anyway.
  bool GoToLocked(int processor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRivalLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool RequestsWait() const;
  bool Leads() const { return leader_.load(std::memory_order_acquire) != 0; }
  bool MustAct() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || Leads(); }

  const int device_ = -1;
  ReaderGate* const gate_ = nullptr;  // null: the threads are bound
  const std::function<void()> nobody_reads_;

  std::atomic<int> leader_ = 0;         // the thread that serves alone; 0: none. Set under mu_
  std::atomic<uint64_t> progress_ = 0;  // of that thread: odd while it handles a request
  std::atomic<uint64_t> followed_ = 0;

  absl::Mutex streak_mu_;  // only tried: a request more or less does not matter
  ClientStreak streak_ ABSL_GUARDED_BY(streak_mu_);

  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  cpu_set_t usual_processors_ ABSL_GUARDED_BY(mu_){};
  absl::Time began_ ABSL_GUARDED_BY(mu_);
  absl::Time not_before_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::Duration pause_ ABSL_GUARDED_BY(mu_);
  uint64_t seen_progress_ ABSL_GUARDED_BY(mu_) = 0;
  // /proc/THREAD/schedstat of both, and what was read there last.
  Fd leader_times_ ABSL_GUARDED_BY(mu_), client_times_ ABSL_GUARDED_BY(mu_);
  int64_t waited_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time looked_ ABSL_GUARDED_BY(mu_);
  int quiet_looks_ ABSL_GUARDED_BY(mu_) = 0;
  std::thread watch_ ABSL_GUARDED_BY(mu_);  // from the first time on
};

}  // namespace agentfs::fuse
