// SPDX-License-Identifier: Apache-2.0
#include "store/commit_queue.h"

#include <utility>

namespace agentfs {

CommitQueue::CommitQueue(Store& store) : store_(store), thread_([this] { Run(); }) {}

CommitQueue::~CommitQueue() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
  }
  thread_.join();
}

std::future<Result<void>> CommitQueue::Submit(Batch batch, Durability durability,
                                              std::stop_token stop) {
  Item item{std::move(batch), durability, std::move(stop), {}};
  std::future<Result<void>> future = item.done.get_future();
  absl::MutexLock lock(&mu_);
  items_.push_back(std::move(item));
  return future;
}

void CommitQueue::Run() {
  for (;;) {
    mu_.LockWhen(absl::Condition(this, &CommitQueue::HasWorkLocked));
    if (items_.empty()) {
      mu_.Unlock();
      return;
    }
    Item item = std::move(items_.front());
    items_.pop_front();
    mu_.Unlock();
    if (item.stop.stop_requested()) {
      item.done.set_value(Error(ECANCELED));
    } else {
      item.done.set_value(store_.Commit(item.batch, item.durability));
    }
  }
}

}  // namespace agentfs
