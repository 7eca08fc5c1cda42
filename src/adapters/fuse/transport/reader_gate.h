// SPDX-License-Identifier: Apache-2.0
//
// How many of a transport's threads wait for a request at a time.
#pragma once

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs::fuse {

// The kernel gives requests to waiting readers in turn, so each further reader makes the thread
// that gets one colder. Therefore only a few wait there, and the rest here; but as soon as none
// waits there because all are handling requests, one of the rest goes.
//
// A thread calls Approach before it answers, Enter before it reads and Leave when it has read.
// While nobody has to wait here that is two atomic additions.
class ReaderGate {
 public:
  static constexpr int kMostReaders = 3;

  // The thread is about to read: whom it answers may send the next request before it gets to.
  void Approach() { readers_.fetch_add(1); }
  // After Approach. Waits while enough others read.
  void Enter() ABSL_LOCKS_EXCLUDED(mu_);
  // True: nobody reads or is about to, all are handling requests.
  bool Leave() ABSL_LOCKS_EXCLUDED(mu_);
  // Nobody else may read from now on: who is in stays in, and those who leave find no room.
  void Narrow() { most_.store(1, std::memory_order_relaxed); }
  // A few may read again, and one of those who wait goes. False: nobody waits, and at most one,
  // who has asked for this or for whom it was asked, is in.
  bool Widen() ABSL_LOCKS_EXCLUDED(mu_);
  // Lets everybody in from now on: there is nothing more to read.
  void Open() ABSL_LOCKS_EXCLUDED(mu_);

  int waiting() ABSL_LOCKS_EXCLUDED(mu_);  // for tests

 private:
  bool MayGo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return called_ > 0 || open_; }

  std::atomic<int> readers_ = 0;
  std::atomic<int> most_ = kMostReaders;
  absl::Mutex mu_;
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
  int called_ ABSL_GUARDED_BY(mu_) = 0;  // of those who wait
  bool open_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace agentfs::fuse
