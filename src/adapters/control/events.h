// SPDX-License-Identifier: Apache-2.0
//
// What happens in a workspace, told to whoever subscribed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::control {

enum class EventKind : uint8_t {
  kCreated,
  kRemoved,
  kModified,
  kRenamed,
  kBranchCreated,
  kBranchDeleted,
  kBranchRestored,
  kSnapshotCreated,
  kSnapshotDeleted,
  kLost,  // `count` events were dropped here
};
std::string_view NameOf(EventKind kind);

struct Event {
  EventKind kind = EventKind::kLost;
  std::string branch;
  std::string path;      // of a file; a rename: the old one
  std::string new_path;  // of a rename
  std::string name;      // of a snapshot; what a restore went back to
  uint64_t count = 0;    // of kLost
};

// The events of one subscriber, which wait in a queue of fixed length. When it is full, new ones
// are dropped and counted: a slow subscriber costs a writer nothing. Thread-safe.
class Subscription {
 public:
  // Of one branch, or of all if empty. EMFILE.
  static Result<std::shared_ptr<Subscription>> Create(std::string branch, size_t capacity);

  // Readable while events wait.
  int descriptor() const { return signal_.get(); }
  // What waits, oldest first, and a kLost behind it if some were dropped.
  std::vector<Event> Take();
  void Add(const Event& event);

 private:
  Subscription(std::string branch, size_t capacity, Fd signal)
      : branch_(std::move(branch)), capacity_(capacity), signal_(std::move(signal)) {}

  const std::string branch_;
  const size_t capacity_;
  const Fd signal_;
  absl::Mutex mu_;
  std::deque<Event> queue_ ABSL_GUARDED_BY(mu_);
  uint64_t lost_ ABSL_GUARDED_BY(mu_) = 0;
};

// Thread-safe. Publish waits for nobody but other publishers, for as long as it takes to append.
class EventHub {
 public:
  static constexpr size_t kQueueLength = 4096;

  // Lasts while the subscription is held. An empty branch: events of all.
  Result<std::shared_ptr<Subscription>> Subscribe(std::string branch,
                                                  size_t capacity = kQueueLength);
  // Cheap, so that who would publish can save making the event.
  bool HasSubscribers() const { return count_.load(std::memory_order_relaxed) > 0; }
  void Publish(const Event& event);

 private:
  void DropGoneLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  std::vector<std::weak_ptr<Subscription>> subscriptions_ ABSL_GUARDED_BY(mu_);
  std::atomic<size_t> count_ = 0;
};

}  // namespace agentfs::control
