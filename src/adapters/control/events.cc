// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace agentfs::control {

std::string_view NameOf(EventKind kind) {
  switch (kind) {
    case EventKind::kCreated:
      return "created";
    case EventKind::kRemoved:
      return "removed";
    case EventKind::kModified:
      return "modified";
    case EventKind::kRenamed:
      return "renamed";
    case EventKind::kBranchCreated:
      return "branch-created";
    case EventKind::kBranchDeleted:
      return "branch-deleted";
    case EventKind::kBranchRestored:
      return "branch-restored";
    case EventKind::kSnapshotCreated:
      return "snapshot-created";
    case EventKind::kSnapshotDeleted:
      return "snapshot-deleted";
    case EventKind::kLost:
      return "lost";
  }
  return "";
}

Result<std::shared_ptr<Subscription>> Subscription::Create(std::string branch, size_t capacity) {
  Fd signal(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signal) return ErrnoError();
  return std::shared_ptr<Subscription>(
      new Subscription(std::move(branch), capacity, std::move(signal)));
}

void Subscription::Add(const Event& event) {
  const bool for_all = event.kind == EventKind::kLost;
  if (!branch_.empty() && !for_all && event.branch != branch_) return;
  absl::MutexLock lock(&mu_);
  if (queue_.size() >= capacity_) {
    ++lost_;
    return;
  }
  queue_.push_back(event);
  if (queue_.size() == 1) (void)::eventfd_write(signal_.get(), 1);
}

std::vector<Event> Subscription::Take() {
  absl::MutexLock lock(&mu_);
  eventfd_t ignored;
  (void)::eventfd_read(signal_.get(), &ignored);
  std::vector<Event> events(std::make_move_iterator(queue_.begin()),
                            std::make_move_iterator(queue_.end()));
  queue_.clear();
  if (lost_ > 0) {
    Event& notice = events.emplace_back();
    notice.count = lost_;
  }
  lost_ = 0;
  return events;
}

Result<std::shared_ptr<Subscription>> EventHub::Subscribe(std::string branch, size_t capacity) {
  AGENTFS_ASSIGN(auto subscription, Subscription::Create(std::move(branch), capacity));
  absl::MutexLock lock(&mu_);
  DropGoneLocked();
  subscriptions_.push_back(subscription);
  count_ = subscriptions_.size();
  return subscription;
}

void EventHub::DropGoneLocked() {
  std::erase_if(subscriptions_, [](const auto& each) { return each.expired(); });
  count_ = subscriptions_.size();
}

void EventHub::Publish(const Event& event) {
  if (!HasSubscribers()) return;
  absl::MutexLock lock(&mu_);
  bool gone = false;
  for (const auto& each : subscriptions_) {
    auto subscription = each.lock();
    gone |= subscription == nullptr;
    if (subscription) subscription->Add(event);
  }
  if (gone) DropGoneLocked();
}

}  // namespace agentfs::control
