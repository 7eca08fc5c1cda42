// SPDX-License-Identifier: Apache-2.0
//
// Runs the calls of a session: in the order in which they came, but those that may take long beside
// the others.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace agentfs::mcp {

// Thread-safe.
class CallLane {
 public:
  struct Work {
    std::function<void()> begin;  // in order
    std::function<void()> run;
    bool apart = false;  // `run` must not hold up what comes after
  };

  CallLane() = default;
  CallLane(const CallLane&) = delete;
  CallLane& operator=(const CallLane&) = delete;
  // Waits for everything that was added.
  ~CallLane();

  // False: so much is waiting already that it is not taken. Work must not throw.
  bool Add(Work work);
  // Whether everything was done within the time.
  bool WaitIdle(absl::Duration timeout);

 private:
  void RunInOrder();
  void RunApart();
  void TakeApartLocked(Work work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool OrderedReadyLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ending_ || !ordered_.empty();
  }
  bool ApartReadyLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ending_ || !apart_.empty();
  }
  bool IdleLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return pending_ == 0; }

  absl::Mutex mu_;
  std::deque<Work> ordered_ ABSL_GUARDED_BY(mu_);
  std::deque<Work> apart_ ABSL_GUARDED_BY(mu_);
  size_t pending_ ABSL_GUARDED_BY(mu_) = 0;     // added and not done
  size_t idle_apart_ ABSL_GUARDED_BY(mu_) = 0;  // threads that wait for work
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::mcp
