// SPDX-License-Identifier: Apache-2.0
//
// What the kernel knows: the nodes behind its node ids, and how often it has looked each up.
//
// A node has one id as long as the kernel knows it, in each tree one of its own. The inode, and
// with it the node, is kept until the kernel has forgotten it as often as it was told of it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "adapters/fuse/tree.h"
#include "agentfs/filesystem.h"

namespace agentfs::fuse {

inline constexpr uint64_t kRootId = 1;

struct Inode {
  uint64_t id = 0;
  uint64_t generation = 0;
  std::shared_ptr<Tree> tree;  // before the node, which must go first
  NodeRef node;
  uint64_t lookups = 0;  // guarded by the table's shard
  // The directory that it was last found in, if any; it may be forgotten.
  std::atomic<uint64_t> parent{0};
  // The kernel has its name in `parent` and its attributes, told when the tree had changed so often
  // elsewhere (and one time more); 0: not, or what it asked since has made them old.
  std::atomic<uint64_t> told{0};
  // It is open through passthrough (DirectFiles): what the filesystem says of it must be settled
  // first.
  std::atomic<bool> direct{false};
  bool was_direct = false;  // DirectFiles' own
  // Others than this kernel have changed its content: where it ends, the kernel may not know.
  std::atomic<bool> changed_elsewhere{false};

  FileSystem& fs() const { return tree->fs(); }
};

// Thread-safe.
class InodeTable {
 public:
  // The root is known for ever.
  InodeTable(std::shared_ptr<Tree> tree, NodeRef root);
  ~InodeTable();
  InodeTable(const InodeTable&) = delete;
  InodeTable& operator=(const InodeTable&) = delete;

  // The inode of a node that the kernel is about to be told of; counts one look-up.
  Inode& Learn(const std::shared_ptr<Tree>& tree, NodeRef node);
  // Null: no such id. The kernel does not forget what it is asking about: the inode stays until
  // its request is answered.
  Inode* Get(uint64_t id) const;
  void Forget(uint64_t id, uint64_t count);
  // The kernel keeps the id for what it has open; who looks the node up gets another.
  void Retire(uint64_t id);

  // 0: the kernel does not know the node.
  uint64_t Find(const Tree& tree, NodeId node) const;
  // The same of one whose content was changed elsewhere, which the inode remembers.
  uint64_t FindChanged(const Tree& tree, NodeId node) const;
  // The id of the directory that it was last found in; 0: none is known.
  uint64_t ParentOf(const Tree& tree, NodeId node) const;
  // Whether the kernel was told of it in this directory (Inode::told), and nothing has changed
  // since.
  bool IsTold(const Tree& tree, NodeId node, uint64_t parent, uint64_t changes) const;
  // In no order.
  std::vector<uint64_t> AllIds() const;
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Key {
    const Tree* tree;
    NodeId node;
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H state, const Key& key) {
      return H::combine(std::move(state), key.tree, key.node);
    }
  };
  static constexpr size_t kShards = 16;
  static constexpr uint64_t kFirstId = kRootId + 1;
  static constexpr size_t kBlockSize = 4096;
  static constexpr size_t kBlocksPerGroup = 256;
  static constexpr size_t kMaxGroups = 256;
  using Slot = std::atomic<Inode*>;
  using Block = std::array<Slot, kBlockSize>;
  using Group = std::array<std::atomic<Block*>, kBlocksPerGroup>;  // few are ever needed

  // Ids of shard s are kFirstId + s, kFirstId + s + kShards, ...
  struct alignas(64) Shard {
    mutable absl::Mutex mu;
    absl::flat_hash_map<Key, Inode*> inodes ABSL_GUARDED_BY(mu);
    std::vector<uint64_t> free ABSL_GUARDED_BY(mu);
    uint64_t next ABSL_GUARDED_BY(mu) = 0;
  };
  static size_t ShardOf(const Key& key) { return absl::HashOf(key) % kShards; }
  static uint64_t TakeId(Shard& shard, size_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);
  Slot* SlotOf(uint64_t id) const;
  Slot& MakeSlot(uint64_t id);

  Inode root_;
  std::atomic<size_t> size_{0};
  std::atomic<uint64_t> generation_{1};
  std::array<Shard, kShards> shards_;
  absl::Mutex grow_mu_;  // after a shard's
  std::array<std::atomic<Group*>, kMaxGroups> groups_{};
};

}  // namespace agentfs::fuse
