// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/invalidator.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace agentfs::fuse {
namespace {

// A second: the thread with the answer that tells of an inode may wait for a processor.
constexpr int kMaxAttempts = 1000;
constexpr absl::Duration kBetweenAttempts = absl::Milliseconds(1);
constexpr absl::Duration kSendPatience = absl::Seconds(1);

}  // namespace

void Invalidator::Start(InodeTable& inodes, const Notifier& notifier, KnownNames* names,
                        DirectFiles* direct) {
  notifier_ = &notifier;
  names_ = names;
  {
    absl::MutexLock lock(&mu_);
    inodes_ = &inodes;
    direct_ = direct;
    stopping_ = false;
  }
  thread_ = std::thread([this] { Work(); });
}

void Invalidator::Cease() {
  absl::MutexLock lock(&mu_);
  stopping_ = true;
  inodes_ = nullptr;
  direct_ = nullptr;
  queue_.clear();
  again_.clear();
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return sending_ == 0; };
  mu_.AwaitWithTimeout(absl::Condition(&idle), kSendPatience);
}

void Invalidator::Stop() {
  Cease();
  if (thread_.joinable()) thread_.join();
}

void Invalidator::Add(Item item) {
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  // One "everything" says all that is queued behind it too.
  if (!queue_.empty() && queue_.back().kind == Item::Kind::kAll) return;
  item.number = ++added_;
  queue_.push_back(std::move(item));
}

uint64_t Invalidator::Find(const Tree& tree, NodeId node) {
  if (!node) return 0;
  absl::MutexLock lock(&mu_);  // the table is there for as long as it is held
  return inodes_ == nullptr ? 0 : inodes_->Find(tree, node);
}

void Invalidator::AddNode(const Tree& tree, NodeId node, Item::Kind kind) {
  if (const uint64_t id = Find(tree, node); id != 0) Add({kind, id});
}

void Invalidator::AddContent(const Tree& tree, NodeId node) {
  if (!node) return;
  uint64_t id = 0;
  {
    absl::MutexLock lock(&mu_);
    if (inodes_ != nullptr) id = inodes_->FindChanged(tree, node);
    if (id != 0 && direct_ != nullptr) direct_->ChangedElsewhere(id);
  }
  if (id != 0) Data(id);
}

void Invalidator::AddName(const Tree& tree, NodeId parent, std::string_view name, Item::Kind kind,
                          NodeId removed) {
  const uint64_t id = Find(tree, parent);
  if (id == 0) return;
  const uint64_t child = Find(tree, removed);
  if (kind == Item::Kind::kRemoved && child == 0) kind = Item::Kind::kEntry;
  if (!name.empty()) Add({kind, id, std::string(name), child});
  Add({Item::Kind::kData, id});
}

void Invalidator::Changed(const Tree& tree, const ChangeEvent& event) {
  using Kind = ChangeEvent::Kind;
  switch (event.kind) {
    case Kind::kCreated:
      AddName(tree, event.parent, event.name);
      return AddNode(tree, event.node, Item::Kind::kAttributes);
    case Kind::kRemoved:
      AddName(tree, event.parent, event.name, Item::Kind::kRemoved, event.node);
      return AddNode(tree, event.node, Item::Kind::kAttributes);
    case Kind::kRenamed:
    case Kind::kExchanged:
      AddName(tree, event.parent, event.name, Item::Kind::kMoved);
      AddName(tree, event.new_parent, event.new_name, Item::Kind::kMoved);
      AddNode(tree, event.replaced, Item::Kind::kAttributes);
      return AddNode(tree, event.node, Item::Kind::kAttributes);
    case Kind::kContent:
      return AddContent(tree, event.node);
    case Kind::kAttributes:
      return AddNode(tree, event.node, Item::Kind::kAttributes);
    case Kind::kBase:
      AddName(tree, event.parent, event.name);
      return AddContent(tree, event.node);
    case Kind::kReset: {
      absl::MutexLock lock(&mu_);
      if (direct_ != nullptr) direct_->Reset(tree, *inodes_);
    }
      return All();
  }
}

void Invalidator::All() { Add({Item::Kind::kAll}); }

void Invalidator::Flush() {
  absl::MutexLock lock(&mu_);
  const uint64_t wanted = added_;
  const auto done = [this, wanted]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return stopping_ || AllSentLocked(wanted);
  };
  mu_.Await(absl::Condition(&done));
}

// None up to `number` is left, wherever.
bool Invalidator::AllSentLocked(uint64_t number) const {
  if (sending_ != 0 && sending_ <= number) return false;
  if (!queue_.empty() && queue_.front().number <= number) return false;
  return std::none_of(again_.begin(), again_.end(),
                      [&](const Item& item) { return item.number <= number; });
}

void Invalidator::Work() {
  while (std::optional<Item> item = Next()) {
    const bool sent = Send(*item);
    absl::MutexLock lock(&mu_);
    sending_ = 0;
    if (!sent) TryAgainLocked(std::move(*item));
  }
}

std::optional<Invalidator::Item> Invalidator::Next() {
  absl::MutexLock lock(&mu_);
  std::deque<Item>* ready = nullptr;
  while (!stopping_ && (ready = ReadyLocked()) == nullptr) {
    const absl::Duration patience =
        again_.empty() ? absl::InfiniteDuration() : again_.front().due - absl::Now();
    mu_.AwaitWithTimeout(absl::Condition(this, &Invalidator::HasWork), patience);
  }
  if (stopping_) return std::nullopt;
  std::optional<Item> item = std::move(ready->front());
  ready->pop_front();
  sending_ = item->number;
  return item;
}

std::deque<Invalidator::Item>* Invalidator::ReadyLocked() {
  if (!again_.empty() && again_.front().due <= absl::Now()) return &again_;
  return queue_.empty() ? nullptr : &queue_;
}

void Invalidator::TryAgainLocked(Item item) {
  if (!WorthAnotherAttemptLocked(item) || IsTriedAgainLocked(item)) return;
  item.due = absl::Now() + kBetweenAttempts;
  again_.push_back(std::move(item));
}

// An answer that was made before the change may still be on its way to the kernel, who would keep
// what it says: until it knows the inode, or has forgotten it, it is told again.
bool Invalidator::WorthAnotherAttemptLocked(Item& item) {
  return inodes_ != nullptr && inodes_->Get(item.id) != nullptr && ++item.attempts < kMaxAttempts;
}

// What is told of an inode again says all that was to be told of it; the older number stays.
bool Invalidator::IsTriedAgainLocked(const Item& item) {
  const auto same = std::find_if(again_.begin(), again_.end(), [&](const Item& each) {
    return each.kind == item.kind && each.id == item.id;
  });
  if (same == again_.end()) return false;
  same->attempts = 0;
  return true;
}

// What else goes wrong here the kernel no longer cares about: it has gone.
bool Invalidator::Send(const Item& item) {
  const auto known = [](const Result<bool>& sent) { return !sent.ok() || *sent; };
  switch (item.kind) {
    case Item::Kind::kAttributes:
      return known(notifier_->InvalidateAttributes(item.id));
    case Item::Kind::kData:
      Follow(item.id);
      return known(notifier_->InvalidateInode(item.id, 0, 0));
    case Item::Kind::kEntry:
      (void)notifier_->InvalidateEntry(item.id, item.name, Notifier::Entry::kExpire).ok();
      return true;
    case Item::Kind::kMoved:
      // A directory that the kernel still has under its old name it cannot move while it renames.
      (void)notifier_->InvalidateEntry(item.id, item.name, Notifier::Entry::kDrop).ok();
      return true;
    case Item::Kind::kRemoved:
      (void)notifier_->Deleted(item.id, item.child, item.name).ok();
      (void)notifier_->InvalidateEntry(item.id, item.name, Notifier::Entry::kExpire).ok();
      return true;
    case Item::Kind::kAll:
      SendAll(item.number);
      return true;
  }
  return true;
}

// What the kernel passes through is in no page of ours.
void Invalidator::Follow(uint64_t id) {
  DirectFiles* direct = nullptr;
  {
    absl::MutexLock lock(&mu_);
    direct = direct_;  // outlives the thread
  }
  if (direct != nullptr) direct->Follow(id);
}

void Invalidator::SendAll(uint64_t number) {
  std::vector<uint64_t> ids;
  {
    absl::MutexLock lock(&mu_);
    if (inodes_ != nullptr) ids = inodes_->AllIds();
  }
  if (names_ == nullptr) {
    (void)notifier_->InvalidateAllEntries().ok();
  } else {
    for (const auto& [directory, name] : names_->TakeAll()) {
      (void)notifier_->InvalidateEntry(directory, name, Notifier::Entry::kExpire).ok();
    }
  }
  std::vector<Item> unknown;
  for (const uint64_t id : ids) {
    Item item{Item::Kind::kData, id};
    item.number = number;
    if (!Send(item)) unknown.push_back(std::move(item));
  }
  absl::MutexLock lock(&mu_);
  for (Item& item : unknown) TryAgainLocked(std::move(item));
}

}  // namespace agentfs::fuse
