// SPDX-License-Identifier: Apache-2.0
#include "core/node_table.h"

#include <vector>

#include "core/node.h"
#include "core/view_nodes.h"

namespace agentfs {

size_t NodeTable::ById::operator()(const ViewNode* node) const { return (*this)(node->id()); }
bool NodeTable::ById::operator()(const ViewNode* a, NodeId b) const { return a->id() == b; }

NodeTable::~NodeTable() {
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    if (!shard.nodes.empty()) std::abort();  // a NodeRef outlives its view
  }
}

NodeRef NodeTable::Find(NodeId id) {
  Shard& shard = ShardOf(id);
  absl::MutexLock lock(&shard.mu);
  auto it = shard.nodes.find(id);
  return it == shard.nodes.end() ? NodeRef() : NodeRef(*it);
}

NodeRef NodeTable::Get(NodeId id) {
  Shard& shard = ShardOf(id);
  absl::MutexLock lock(&shard.mu);
  auto it = shard.nodes.find(id);
  if (it != shard.nodes.end()) return NodeRef(*it);
  auto* node = new ViewNode(*this, id);
  shard.nodes.insert(node);
  size_.fetch_add(1, std::memory_order_relaxed);
  return NodeRef(node);
}

std::vector<NodeRef> NodeTable::All() {
  std::vector<NodeRef> all;
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    for (ViewNode* node : shard.nodes) all.emplace_back(node);
  }
  return all;
}

void NodeTable::Release(ViewNode* node) {
  {
    Shard& shard = ShardOf(node->id());
    absl::MutexLock lock(&shard.mu);
    if (node->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    shard.nodes.erase(node);
  }
  size_.fetch_sub(1, std::memory_order_relaxed);
  // Destroying a directory releases its children, theirs, and so on: one after the other, not one
  // inside the other, because trees are deeper than stacks.
  static thread_local std::vector<ViewNode*>* draining = nullptr;
  if (draining != nullptr) {
    draining->push_back(node);
    return;
  }
  std::vector<ViewNode*> nodes{node};
  draining = &nodes;
  while (!nodes.empty()) {
    ViewNode* next = nodes.back();
    nodes.pop_back();
    owner_.NodeDropped(*next);
    delete next;
  }
  draining = nullptr;
}

void ViewNode::ReleaseLast() { table_.Release(this); }

}  // namespace agentfs
