// SPDX-License-Identifier: Apache-2.0
//
// From a directory to its path.
#include <utility>

#include "core/view.h"

namespace agentfs {
namespace {

// What the base calls `path`, if that is a name in the directory `parent` of the base.
std::string_view NameInBase(const BaseLink* parent, std::string_view path) {
  if (parent == nullptr) return {};
  const size_t slash = path.rfind('/');
  const std::string_view directory = slash == path.npos ? "" : path.substr(0, slash);
  if (directory != parent->path) return {};
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

// Directories are few and have one name each: the entries are looked through.
Result<std::string> View::NameIn(ViewNode& parent, ViewNode& child) {
  std::string base_path;
  {
    AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, child, LockMode::kShared));
    if (child.nlink == 0) return Error(ENOENT);
    if (child.base != nullptr) base_path = child.base->path;
  }
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kShared));
  // A name that only the base gives has no entry; one that has is what the layers say.
  if (!base_path.empty()) {
    const std::string_view name = NameInBase(parent.base.get(), base_path);
    const NameEntry* entry = name.empty() ? nullptr : parent.directory()->Find(name);
    if (!name.empty() && (entry == nullptr || entry->node_id() == child.id())) {
      return std::string(name);
    }
  }
  for (const NameEntry* entry : *parent.directory()) {
    if (entry->node_id() == child.id()) return std::string(entry->name());
  }
  return Error(ENOENT);
}

Result<Named> View::NameOfLoaded(ViewNode& node) {
  if (node.id() == kRootNode) return Error(ENOENT);
  AGENTFS_ASSIGN(NodeRef parent, nodes_.ParentOf(node));
  AGENTFS_ASSIGN(std::string name, NameIn(AsViewNode(*parent), node));
  return Named{std::move(parent), std::move(name)};
}

Result<Named> View::NameOf(Node& node) {
  Operation operation(*this);
  return NameOfLoaded(AsViewNode(node));
}

Result<NodeRef> View::GetNode(NodeId id, const std::string& base_path) {
  Operation operation(*this);
  NodeRef ref = nodes_.table().Get(id);
  Result<void> loaded = nodes_.Acquire(AsViewNode(*ref), LockMode::kShared);
  if (loaded.ok()) {
    nodes_.Release(AsViewNode(*ref), LockMode::kShared);
    return ref;
  }
  BaseFs* base = nodes_.volume().base.get();
  if (loaded.code() != ESTALE) return loaded.error();
  if (base == nullptr || base_path.empty()) return Error(ENOENT);
  Result<BaseStat> stat = base->Stat(base_path);
  if (!stat.ok() || BaseNodeId(stat->identity) != id) return Error(ENOENT);
  return nodes_.GetBaseNode(base_path, *stat, NodeId());
}

Result<std::string> View::PathOf(Node& directory) {
  Operation operation(*this);
  std::string path;
  NodeRef at(&directory);
  while (at->id() != kRootNode) {
    AGENTFS_ASSIGN(Named named, NameOfLoaded(AsViewNode(*at)));
    path.insert(0, "/" + named.name);
    at = std::move(named.parent);
  }
  return path.empty() ? "/" : path;
}

}  // namespace agentfs
