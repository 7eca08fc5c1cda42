// SPDX-License-Identifier: Apache-2.0
//
// Turns what views tell their observers (nodes and names) into events with paths.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/control/events.h"
#include "agentfs/filesystem.h"

namespace agentfs::control {

// Thread-safe. Writers only append to a queue of fixed length, and nothing if nobody has
// subscribed; a thread of its own finds the paths, as they are by then. What does not fit is
// dropped and told as lost.
class ChangeEvents {
 public:
  // `hub` outlives it.
  explicit ChangeEvents(EventHub& hub);
  ~ChangeEvents();  // every watch must be gone

  // While it lives, changes of the branch are events. All watches of a branch are one.
  class Watch;
  std::shared_ptr<Watch> WatchBranch(const std::string& branch, std::shared_ptr<FileSystem> view);

  // Returns when everything so far has been published; no view is held any more on account of it.
  void Drain();

 private:
  struct Change;
  static constexpr size_t kQueueLength = 16384;

  void Add(Watch& watch, const ChangeEvent& event);
  void Run();
  void Publish(const Change& change);
  bool HasWorkLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return stopping_ || lost_ > 0 || !queue_.empty();
  }
  bool IsIdleLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return queue_.empty() && !publishing_;
  }

  EventHub& hub_;
  absl::Mutex mu_;  // a leaf: taken by writers inside operations
  std::deque<Change> queue_ ABSL_GUARDED_BY(mu_);
  uint64_t lost_ ABSL_GUARDED_BY(mu_) = 0;
  bool publishing_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  absl::Mutex watches_mu_;
  std::map<std::string, std::weak_ptr<Watch>> watches_ ABSL_GUARDED_BY(watches_mu_);
  std::thread thread_;
};

}  // namespace agentfs::control
