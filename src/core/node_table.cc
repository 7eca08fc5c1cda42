// SPDX-License-Identifier: Apache-2.0
#include "core/node_table.h"

#include <new>
#include <vector>

#include "core/node.h"
#include "core/view_nodes.h"

namespace agentfs {

size_t NodeTable::ById::operator()(const ViewNode* node) const { return (*this)(node->id()); }
bool NodeTable::ById::operator()(const ViewNode* a, NodeId b) const { return a->id() == b; }

NodeTable::NodeTable(ViewNodes& owner) : owner_(owner), pool_(sizeof(ViewNode)) {}

NodeTable::~NodeTable() {
  if (size() != 0) std::abort();  // a NodeRef outlives its view
}

ViewNode* NodeTable::Shard::Find(NodeId id) const {
  if ((id.value & kBaseNodeBit) != 0) {
    auto it = base_nodes.find(id);
    return it == base_nodes.end() ? nullptr : *it;
  }
  auto it = pages.find(id.value / kPageNodes);
  return it == pages.end() ? nullptr : it->second->nodes[id.value % kPageNodes];
}

void NodeTable::Shard::Insert(ViewNode* node) {
  const uint64_t id = node->id().value;
  if ((id & kBaseNodeBit) != 0) {
    base_nodes.insert(node);
    return;
  }
  auto it = pages.find(id / kPageNodes);
  if (it == pages.end()) it = pages.emplace(id / kPageNodes, std::make_unique<Page>()).first;
  it->second->nodes[id % kPageNodes] = node;
  ++it->second->used;
}

void NodeTable::Shard::Erase(ViewNode* node) {
  const uint64_t id = node->id().value;
  if ((id & kBaseNodeBit) != 0) {
    base_nodes.erase(node);
    return;
  }
  auto it = pages.find(id / kPageNodes);
  it->second->nodes[id % kPageNodes] = nullptr;
  if (--it->second->used == 0) pages.erase(it);
}

NodeRef NodeTable::Find(NodeId id) {
  Shard& shard = ShardOf(id);
  absl::MutexLock lock(&shard.mu);
  return NodeRef(shard.Find(id));
}

NodeRef NodeTable::Get(NodeId id) {
  Shard& shard = ShardOf(id);
  absl::MutexLock lock(&shard.mu);
  if (ViewNode* node = shard.Find(id)) return NodeRef(node);
  auto* node = new (pool_.Allocate()) ViewNode(*this, id);
  try {
    shard.Insert(node);
  } catch (...) {  // no memory
    node->~ViewNode();
    pool_.Free(node);
    throw;
  }
  size_.fetch_add(1, std::memory_order_relaxed);
  return NodeRef(node);
}

std::vector<NodeRef> NodeTable::All() {
  std::vector<NodeRef> all;
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    for (ViewNode* node : shard.base_nodes) all.emplace_back(node);
    for (const auto& [index, page] : shard.pages) {
      for (ViewNode* node : page->nodes) {
        if (node != nullptr) all.emplace_back(node);
      }
    }
  }
  return all;
}

void NodeTable::Release(ViewNode* node) {
  {
    Shard& shard = ShardOf(node->id());
    absl::MutexLock lock(&shard.mu);
    if (node->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    shard.Erase(node);
  }
  size_.fetch_sub(1, std::memory_order_relaxed);
  // Destroying a directory releases its children, theirs, and so on: one after the other, not one
  // inside the other, because trees are deeper than stacks.
  static thread_local Doomed* draining = nullptr;
  if (draining != nullptr && Postpone(node, *draining)) return;
  if (draining != nullptr) return Destroy(node);
  Doomed nodes{node};
  draining = &nodes;
  while (!nodes.empty()) {
    ViewNode* next = nodes.back();
    nodes.pop_back();
    Destroy(next);
  }
  draining = nullptr;
}

// False: there is no memory to remember it.
bool NodeTable::Postpone(ViewNode* node, Doomed& nodes) {
  try {
    nodes.push_back(node);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void NodeTable::Destroy(ViewNode* node) {
  owner_.NodeDropped(*node);
  node->~ViewNode();
  pool_.Free(node);
}

void ViewNode::ReleaseLast() { table_.Release(this); }

}  // namespace agentfs
