// SPDX-License-Identifier: Apache-2.0
//
// The nodes of a view that are in memory, by id. It does not keep them there: references do.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/filesystem.h"
#include "core/node_pool.h"

namespace agentfs {

class ViewNodes;
class ViewNode;

// Thread-safe. Its locks are leaves: nothing but the lock of its pool is taken while one is held.
class NodeTable {
 public:
  explicit NodeTable(ViewNodes& owner);
  ~NodeTable();

  // The node with this id, made (unloaded) if it is not in memory.
  NodeRef Get(NodeId id);
  // The same, or null.
  NodeRef Find(NodeId id);
  // Gives back one reference of `node`; the last one destroys it.
  void Release(ViewNode* node);
  // References to all nodes in memory at some moment.
  std::vector<NodeRef> All();
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct ById {
    using is_transparent = void;
    size_t operator()(NodeId id) const { return absl::Hash<uint64_t>{}(id.value); }
    size_t operator()(const ViewNode* node) const;
    bool operator()(const ViewNode* a, const ViewNode* b) const { return a == b; }
    bool operator()(const ViewNode* a, NodeId b) const;
    bool operator()(NodeId a, const ViewNode* b) const { return (*this)(b, a); }
  };
  // Ids that we give are consecutive: a page for each so many. Growing moves no node.
  static constexpr uint64_t kPageNodes = 32;
  struct Page {
    std::array<ViewNode*, kPageNodes> nodes{};
    uint32_t used = 0;
  };
  struct Shard {
    absl::Mutex mu;
    absl::flat_hash_map<uint64_t, std::unique_ptr<Page>> pages ABSL_GUARDED_BY(mu);
    // The base's ids are anything.
    absl::flat_hash_set<ViewNode*, ById, ById> base_nodes ABSL_GUARDED_BY(mu);

    ViewNode* Find(NodeId id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    void Insert(ViewNode* node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
    void Erase(ViewNode* node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  };
  // Nodes to be destroyed; most often it is one.
  using Doomed = absl::InlinedVector<ViewNode*, 16>;
  static bool Postpone(ViewNode* node, Doomed& nodes);
  void Destroy(ViewNode* node);

  static constexpr size_t kShards = 8;
  Shard& ShardOf(NodeId id) { return shards_[(id.value / kPageNodes * 0x9E3779B97F4A7C15u) >> 61]; }

  ViewNodes& owner_;
  NodePool pool_;
  std::atomic<size_t> size_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace agentfs
