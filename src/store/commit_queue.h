// SPDX-License-Identifier: Apache-2.0
//
// Commits batches to a store in the background, one at a time, in the order of submission.
#pragma once

#include <deque>
#include <future>
#include <stop_token>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

// Thread-safe. The store must outlive the queue. Destruction waits until all that was submitted
// is committed or cancelled. The mutex is held only to push and pop, never during a commit.
class CommitQueue {
 public:
  explicit CommitQueue(Store& store);
  ~CommitQueue();
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // The future gives what Store::Commit gave, or ECANCELED, with nothing applied, if `stop` was
  // requested before the batch's turn came. A batch that has started is not cancelled. A batch
  // that fails does not hold up those behind it.
  std::future<Result<void>> Submit(Batch batch, Durability durability, std::stop_token stop = {});

 private:
  struct Item {
    Batch batch;
    Durability durability;
    std::stop_token stop;
    std::promise<Result<void>> done;
  };

  void Run();
  bool HasWorkLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return closing_ || !items_.empty();
  }

  Store& store_;
  absl::Mutex mu_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // the last member: it uses all the others
};

}  // namespace agentfs
