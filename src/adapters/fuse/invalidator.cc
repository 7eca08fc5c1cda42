// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/invalidator.h"

#include <utility>

namespace agentfs::fuse {

void Invalidator::Start(InodeTable& inodes, const Notifier& notifier) {
  notifier_ = &notifier;
  {
    absl::MutexLock lock(&mu_);
    inodes_ = &inodes;
    stopping_ = false;
  }
  thread_ = std::thread([this] { Work(); });
}

void Invalidator::Stop() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    inodes_ = nullptr;
    queue_.clear();
    sent_ = added_;
  }
  if (thread_.joinable()) thread_.join();
}

void Invalidator::Add(Item item) {
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  // One "everything" says all that is queued behind it too.
  if (!queue_.empty() && queue_.back().kind == Item::Kind::kAll) return;
  queue_.push_back(std::move(item));
  ++added_;
}

void Invalidator::AddNode(const Tree& tree, NodeId node, Item::Kind kind) {
  InodeTable* inodes = nullptr;
  {
    absl::MutexLock lock(&mu_);
    inodes = inodes_;
  }
  if (inodes == nullptr || !node) return;
  if (const uint64_t id = inodes->Find(tree, node); id != 0) Add({kind, id});
}

void Invalidator::AddName(const Tree& tree, NodeId parent, std::string_view name) {
  InodeTable* inodes = nullptr;
  {
    absl::MutexLock lock(&mu_);
    inodes = inodes_;
  }
  if (inodes == nullptr) return;
  const uint64_t id = inodes->Find(tree, parent);
  if (id == 0) return;
  if (!name.empty()) Add({Item::Kind::kEntry, id, std::string(name)});
  Add({Item::Kind::kData, id});
}

void Invalidator::Changed(const Tree& tree, const ChangeEvent& event) {
  using Kind = ChangeEvent::Kind;
  switch (event.kind) {
    case Kind::kCreated:
    case Kind::kRemoved:
      AddName(tree, event.parent, event.name);
      return AddNode(tree, event.node, Item::Kind::kAttributes);
    case Kind::kRenamed:
    case Kind::kExchanged:
      AddName(tree, event.parent, event.name);
      AddName(tree, event.new_parent, event.new_name);
      AddNode(tree, event.replaced, Item::Kind::kAttributes);
      return AddNode(tree, event.node, Item::Kind::kAttributes);
    case Kind::kContent:
      return AddNode(tree, event.node, Item::Kind::kData);
    case Kind::kAttributes:
      return AddNode(tree, event.node, Item::Kind::kAttributes);
    case Kind::kBase:
      AddName(tree, event.parent, event.name);
      return AddNode(tree, event.node, Item::Kind::kData);
    case Kind::kReset:
      return All();
  }
}

void Invalidator::Node(NodeId node) {
  std::vector<uint64_t> ids;
  {
    absl::MutexLock lock(&mu_);
    if (inodes_ != nullptr) ids = inodes_->IdsOf(node);
  }
  for (const uint64_t id : ids) Add({Item::Kind::kData, id});
}

void Invalidator::Entry(NodeId parent, std::string_view name) {
  std::vector<uint64_t> ids;
  {
    absl::MutexLock lock(&mu_);
    if (inodes_ != nullptr) ids = inodes_->IdsOf(parent);
  }
  for (const uint64_t id : ids) {
    Add({Item::Kind::kEntry, id, std::string(name)});
    Add({Item::Kind::kData, id});
  }
}

void Invalidator::All() { Add({Item::Kind::kAll}); }

void Invalidator::Flush() {
  absl::MutexLock lock(&mu_);
  const uint64_t wanted = added_;
  const auto done = [this, wanted]()
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || sent_ >= wanted; };
  mu_.Await(absl::Condition(&done));
}

void Invalidator::Work() {
  while (true) {
    Item item;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &Invalidator::HasWork));
      if (stopping_) return;
      item = std::move(queue_.front());
      queue_.pop_front();
    }
    Send(item);
    absl::MutexLock lock(&mu_);
    ++sent_;
  }
}

// What goes wrong here the kernel no longer cares about: it has gone.
void Invalidator::Send(const Item& item) {
  switch (item.kind) {
    case Item::Kind::kAttributes:
      (void)notifier_->InvalidateAttributes(item.id).ok();
      return;
    case Item::Kind::kData:
      (void)notifier_->InvalidateInode(item.id, 0, 0).ok();
      return;
    case Item::Kind::kEntry:
      (void)notifier_->InvalidateEntry(item.id, item.name, Notifier::Entry::kExpire).ok();
      return;
    case Item::Kind::kAll:
      return SendAll();
  }
}

void Invalidator::SendAll() {
  std::vector<uint64_t> ids;
  {
    absl::MutexLock lock(&mu_);
    if (inodes_ != nullptr) ids = inodes_->AllIds();
  }
  (void)notifier_->InvalidateAllEntries().ok();
  for (const uint64_t id : ids) (void)notifier_->InvalidateInode(id, 0, 0).ok();
}

}  // namespace agentfs::fuse
