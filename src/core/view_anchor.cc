// SPDX-License-Identifier: Apache-2.0
//
// What a branch has changed of the base keeps its name there, whatever becomes of the base.
#include <utility>

#include "core/view.h"

namespace agentfs {

View::Anchor::~Anchor() {
  if ((node_.id().value & kBaseNodeBit) != 0) view_.AnchorName(node_);
}

// Bottom-up: a directory that gets its first record here needs a name of its own in turn. What
// fails is tried again by the next change; until then the name is only the base's, as before.
void View::AnchorName(ViewNode& node) {
  NodeRef at(&node);
  while ((at->id().value & kBaseNodeBit) != 0) {
    {
      Result<NodeLock> lock = NodeLock::Take(nodes_, AsViewNode(*at), LockMode::kShared);
      if (!lock.ok() || !NeedsAnchorLocked(AsViewNode(*at))) return;
    }
    Result<NodeRef> parent = nodes_.ParentOf(AsViewNode(*at));
    if (!parent.ok() || !AnchorIn(AsViewNode(**parent), AsViewNode(*at)).ok()) return;
    at = std::move(*parent);
  }
}

bool View::NeedsAnchorLocked(const ViewNode& node) {
  return node.HasRecord() && !node.anchored && node.base != nullptr && node.nlink > 0;
}

Result<void> View::AnchorIn(ViewNode& parent, ViewNode& child) {
  AGENTFS_ASSIGN(NodeLock lock, LockDirectory(parent, LockMode::kExclusive));
  AGENTFS_ASSIGN(NodeLock child_lock, NodeLock::Take(nodes_, child, LockMode::kExclusive));
  if (!NeedsAnchorLocked(child)) return Ok();
  const std::string& path = child.base->path;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  Name found;
  found.entry = parent.directory()->Find(name);
  if (found.entry == nullptr) {
    AGENTFS_TRY(nodes_.PrepareRecordLocked(parent));
    found.base.emplace();  // removing the name will take a whiteout
    Journal::Change change(nodes_.journal());
    SetEntry(change, parent, name, found, NodeRef(&child), child.type());
    nodes_.PutNode(change, parent);
  }
  child.anchored = true;
  return Ok();
}

}  // namespace agentfs
