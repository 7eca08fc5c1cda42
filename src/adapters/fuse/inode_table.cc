// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/inode_table.h"

#include <cstdlib>
#include <utility>

namespace agentfs::fuse {

InodeTable::InodeTable(std::shared_ptr<Tree> tree, NodeRef root) {
  root_.id = kRootId;
  root_.tree = std::move(tree);
  root_.node = std::move(root);
  root_.lookups = 1;
  const Key key{root_.tree.get(), root_.node->id()};
  Shard& shard = shards_[ShardOf(key)];
  absl::MutexLock lock(&shard.mu);
  shard.inodes.emplace(key, &root_);
}

InodeTable::~InodeTable() {
  for (const auto& made : groups_) {
    const std::unique_ptr<Group> group(made.load());
    if (group == nullptr) continue;
    for (const auto& filled : *group) {
      const std::unique_ptr<Block> block(filled.load());
      if (block == nullptr) continue;
      for (Slot& slot : *block) delete slot.load();
    }
  }
}

InodeTable::Slot* InodeTable::SlotOf(uint64_t id) const {
  const uint64_t index = id - kFirstId;
  const uint64_t number = index / kBlockSize;
  if (id < kFirstId || number >= kMaxGroups * kBlocksPerGroup) return nullptr;
  const Group* group = groups_[number / kBlocksPerGroup].load(std::memory_order_acquire);
  if (group == nullptr) return nullptr;
  Block* block = (*group)[number % kBlocksPerGroup].load(std::memory_order_acquire);
  return block == nullptr ? nullptr : &(*block)[index % kBlockSize];
}

InodeTable::Slot& InodeTable::MakeSlot(uint64_t id) {
  if (Slot* slot = SlotOf(id)) return *slot;
  const uint64_t number = (id - kFirstId) / kBlockSize;
  if (number >= kMaxGroups * kBlocksPerGroup) std::abort();  // 268 million inodes in use
  absl::MutexLock lock(&grow_mu_);
  auto& group = groups_[number / kBlocksPerGroup];
  if (group.load() == nullptr) group.store(new Group(), std::memory_order_release);
  auto& block = (*group.load())[number % kBlocksPerGroup];
  if (block.load() == nullptr) block.store(new Block(), std::memory_order_release);
  return *SlotOf(id);
}

uint64_t InodeTable::TakeId(Shard& shard, size_t index) {
  if (shard.free.empty()) return kFirstId + index + kShards * shard.next++;
  const uint64_t id = shard.free.back();
  shard.free.pop_back();
  return id;
}

Inode& InodeTable::Learn(const std::shared_ptr<Tree>& tree, NodeRef node) {
  const Key key{tree.get(), node->id()};
  const size_t index = ShardOf(key);
  Shard& shard = shards_[index];
  absl::MutexLock lock(&shard.mu);
  auto [it, added] = shard.inodes.try_emplace(key, nullptr);
  if (added) {
    Inode* inode = new Inode();
    inode->id = TakeId(shard, index);
    // An id that is used again is told apart from what it was before.
    inode->generation = generation_.fetch_add(1, std::memory_order_relaxed);
    inode->tree = tree;
    inode->node = std::move(node);
    it->second = inode;
    MakeSlot(inode->id).store(inode, std::memory_order_release);
    size_.fetch_add(1, std::memory_order_relaxed);
  }
  ++it->second->lookups;
  return *it->second;
}

Inode* InodeTable::Get(uint64_t id) const {
  if (id == kRootId) return const_cast<Inode*>(&root_);
  const Slot* slot = SlotOf(id);
  return slot == nullptr ? nullptr : slot->load(std::memory_order_acquire);
}

void InodeTable::Forget(uint64_t id, uint64_t count) {
  Inode* inode = Get(id);
  if (inode == nullptr || id == kRootId) return;
  const Key key{inode->tree.get(), inode->node->id()};
  const size_t index = ShardOf(key);
  Shard& shard = shards_[index];
  {
    absl::MutexLock lock(&shard.mu);
    inode->lookups -= count < inode->lookups ? count : inode->lookups;
    if (inode->lookups != 0) return;
    const auto it = shard.inodes.find(key);
    if (it != shard.inodes.end() && it->second == inode) shard.inodes.erase(it);
    SlotOf(id)->store(nullptr, std::memory_order_release);
    shard.free.push_back(id);
    size_.fetch_sub(1, std::memory_order_relaxed);
  }
  delete inode;  // may be the end of the node, or of the tree
}

void InodeTable::Retire(uint64_t id) {
  Inode* inode = Get(id);
  if (inode == nullptr || id == kRootId) return;
  const Key key{inode->tree.get(), inode->node->id()};
  Shard& shard = shards_[ShardOf(key)];
  absl::MutexLock lock(&shard.mu);
  const auto it = shard.inodes.find(key);
  if (it == shard.inodes.end() || it->second != inode) return;
  shard.inodes.erase(it);
}

uint64_t InodeTable::Find(const Tree& tree, NodeId node) const {
  const Key key{&tree, node};
  const Shard& shard = shards_[ShardOf(key)];
  absl::ReaderMutexLock lock(&shard.mu);
  const auto it = shard.inodes.find(key);
  return it == shard.inodes.end() ? 0 : it->second->id;
}

uint64_t InodeTable::FindChanged(const Tree& tree, NodeId node) const {
  const Key key{&tree, node};
  const Shard& shard = shards_[ShardOf(key)];
  absl::ReaderMutexLock lock(&shard.mu);
  const auto it = shard.inodes.find(key);
  if (it == shard.inodes.end()) return 0;
  it->second->changed_elsewhere.store(true, std::memory_order_release);
  return it->second->id;
}

uint64_t InodeTable::ParentOf(const Tree& tree, NodeId node) const {
  const Key key{&tree, node};
  const Shard& shard = shards_[ShardOf(key)];
  absl::ReaderMutexLock lock(&shard.mu);
  const auto it = shard.inodes.find(key);
  return it == shard.inodes.end() ? 0 : it->second->parent.load(std::memory_order_relaxed);
}

bool InodeTable::IsTold(const Tree& tree, NodeId node, uint64_t parent, uint64_t changes) const {
  const Key key{&tree, node};
  const Shard& shard = shards_[ShardOf(key)];
  absl::ReaderMutexLock lock(&shard.mu);
  const auto it = shard.inodes.find(key);
  return it != shard.inodes.end() &&
         it->second->told.load(std::memory_order_relaxed) == changes + 1 &&
         it->second->parent.load(std::memory_order_relaxed) == parent;
}

std::vector<uint64_t> InodeTable::AllIds() const {
  std::vector<uint64_t> ids;
  for (const Shard& shard : shards_) {
    absl::ReaderMutexLock lock(&shard.mu);
    for (const auto& [key, inode] : shard.inodes) ids.push_back(inode->id);
  }
  return ids;
}

}  // namespace agentfs::fuse
