// SPDX-License-Identifier: Apache-2.0
//
// fsck: names, as they are and as each branch and snapshot sees them.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/clock.h"
#include "core/fsck.h"
#include "core/volume_impl.h"
#include "store/schema.h"

namespace agentfs {
namespace {

bool IsBaseNode(NodeId node) { return (node.value & kBaseNodeBit) != 0; }

std::string EntryText(NodeId parent, std::string_view name, LayerId layer) {
  return "the entry '" + std::string(name) + "' of " + NodeText(parent) + LayerText(layer);
}

}  // namespace

// What one branch or snapshot sees. References into entries_, which does not change meanwhile.
struct Checker::HeadTree {
  struct Edge {
    NodeId parent;
    const std::string* name;
    LayerId layer;
    NodeId child;
  };
  std::vector<Edge> files;  // and everything else that is no directory
  absl::flat_hash_map<NodeId, std::vector<Edge>> directories;  // by parent
  absl::flat_hash_set<NodeId> named;                           // directories that an entry names
  absl::flat_hash_map<NodeId, NodeId> reached;                 // directories, and from where

  bool IsAbove(NodeId node, NodeId below) const {
    for (NodeId at = below; at; at = reached.at(at)) {
      if (at == node) return true;
    }
    return false;
  }
};

// ---- memory follows what is put

void Checker::PutNode(NodeId node, LayerId layer, NodeRecord record) {
  std::vector<Version>& versions = nodes_[node];
  auto at = std::lower_bound(versions.begin(), versions.end(), layer,
                             [](const Version& a, LayerId b) { return a.layer < b; });
  if (at == versions.end() || at->layer != layer) {
    at = versions.insert(at, {layer, {}});
    ++node_records_;
    volume_.node_records.fetch_add(1);
  }
  Put(tables::kNodes, NodeKey(node, layer), EncodeNode(record));
  at->record = std::move(record);
}

// The same as the head sees it, in a row of the head's own.
NodeRecord Checker::RecordFor(const Layer& head, const Version& version) {
  NodeRecord record = version.record;
  if (version.layer != head.id) record.object = ObjectId();  // which only that layer may write
  return record;
}

void Checker::PutWhiteout(NodeId parent, const std::string& name, LayerId layer) {
  std::vector<EntryVersion>& versions = entries_.find({parent, name})->second;
  auto at = std::lower_bound(versions.begin(), versions.end(), layer,
                             [](const EntryVersion& a, LayerId b) { return a.layer < b; });
  if (at == versions.end() || at->layer != layer) at = versions.insert(at, {layer, {}});
  at->node = NodeId();
  Put(tables::kEntries, EntryKey(parent, name, layer), EncodeEntry({}));
}

// ---- entries by themselves

// Only directories have entries: one whose row is lost can be made anew.
void Checker::MendLostDirectories() {
  absl::flat_hash_set<NodeId> parents;
  for (const auto& [name, versions] : entries_) parents.insert(name.first);
  for (const auto& [name, versions] : entries_) {
    for (const EntryVersion& version : versions) {
      const NodeId node = version.node;
      if (!node || nodes_.contains(node) || !parents.contains(node)) continue;
      if (!lost_directories_.insert(node).second) continue;
      const bool repaired = Report("the row of " + NodeText(node) + LayerText(version.layer) +
                                       ", a directory, is lost; it gets mode 700 and this user",
                                   true);
      if (!repaired) continue;
      NodeRecord record = NewDirectory(version.layer);
      record.mode = S_IFDIR | 0700;
      record.parent = name.first;
      PutNode(node, version.layer, std::move(record));
    }
  }
}

void Checker::CheckEntries() {
  MendLostDirectories();
  const auto is_lost = [&](NodeId node) { return !repair_ && lost_directories_.contains(node); };
  absl::ReaderMutexLock lock(&volume_.tree_mu);
  for (auto& [name, versions] : entries_) {
    std::erase_if(versions, [&, &name = name](const EntryVersion& version) {
      volume_.tree_mu.AssertReaderHeld();
      const Layer& layer = *volume_.tree.Find(version.layer);
      const NodeId parent = name.first;
      std::string why;
      if (parent != kRootNode && !is_lost(parent) && !HasVersion(parent, layer)) {
        why = " is of a directory that does not exist there";
      } else if (version.node && !is_lost(version.node) &&
                 VisibleNode(version.node, layer) == nullptr) {
        why = " names " + NodeText(version.node) + ", which does not exist there";
      }
      if (why.empty()) return false;
      const bool repaired = Report(EntryText(parent, name.second, version.layer) + why, true);
      if (repaired) Delete(tables::kEntries, EntryKey(parent, name.second, version.layer));
      return repaired;
    });
  }
}

// ---- a head

// A node was removed, but a name of it was not: it goes where the node did.
void Checker::CheckRemovedName(const EntryName& name, const EntryVersion& version,
                               const Layer& head) {
  const Version* removed = nullptr;
  const auto it = nodes_.find(version.node);
  if (it == nodes_.end()) return;  // reported already
  for (const Version& candidate : it->second) {
    if (head.HasAncestor(candidate.layer)) removed = &candidate;
  }
  if (removed == nullptr || removed->layer <= version.layer) return;  // reported already
  const LayerId layer = removed->layer;
  const bool repaired = Report(EntryText(name.first, name.second, version.layer) + " names " +
                                   NodeText(version.node) + ", which layer " +
                                   std::to_string(layer.value) + " has removed",
                               true);
  if (repaired) PutWhiteout(name.first, name.second, layer);
}

Checker::HeadTree Checker::ReadHead(const Layer& head) {
  HeadTree tree;
  for (const auto& [name, versions] : entries_) {
    const Version* parent = VisibleNode(name.first, head);
    // What a removed directory has named is not reached through it any more.
    if (parent == nullptr || !S_ISDIR(parent->record.mode)) continue;
    for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
      if (!head.HasAncestor(version->layer)) continue;
      if (!version->node) break;
      const HeadTree::Edge edge{name.first, &name.second, version->layer, version->node};
      const Version* child = VisibleNode(version->node, head);
      if (child == nullptr) {
        CheckRemovedName(name, *version, head);
      } else if (S_ISDIR(child->record.mode)) {
        tree.directories[name.first].push_back(edge);
        tree.named.insert(version->node);
      } else {
        tree.files.push_back(edge);
      }
      break;
    }
  }
  return tree;
}

// From the root down; of several names of a directory the one counts that its row knows of. The
// entries that lead to where the walk has been are cut.
void Checker::Reach(const Layer& head, HeadTree* tree) {
  std::deque<HeadTree::Edge> known, others;
  const auto reach = [&](NodeId directory, NodeId from) {
    tree->reached.emplace(directory, from);
    const auto edges = tree->directories.find(directory);
    if (edges == tree->directories.end()) return;
    for (const HeadTree::Edge& edge : edges->second) {
      const bool is_known = VisibleNode(edge.child, head)->record.parent == edge.parent;
      (is_known ? known : others).push_back(edge);
    }
  };
  reach(kRootNode, NodeId());
  for (const auto& [node, versions] : nodes_) {
    // A directory of the base that no entry names has its name there.
    if (!IsBaseNode(node) || tree->named.contains(node)) continue;
    const Version* version = VisibleNode(node, head);
    if (version != nullptr && S_ISDIR(version->record.mode)) reach(node, NodeId());
  }
  while (!known.empty() || !others.empty()) {
    std::deque<HeadTree::Edge>& queue = known.empty() ? others : known;
    const HeadTree::Edge edge = queue.front();
    queue.pop_front();
    if (!tree->reached.contains(edge.child)) {
      reach(edge.child, edge.parent);
    } else {
      Cut(head, *tree, edge.parent, *edge.name, edge.layer, edge.child);
    }
  }
}

void Checker::Cut(const Layer& head, const HeadTree& tree, NodeId parent, const std::string& name,
                  LayerId layer, NodeId child) {
  const bool below = tree.IsAbove(child, parent);
  const bool repaired =
      Report(EntryText(parent, name, layer) + " names " + NodeText(child) +
                 (below ? ", which is above it: a directory below itself" : ", which has a name"),
             true);
  if (!repaired) return;
  PutWhiteout(parent, name, head.id);
  // A change of a layer puts the record of a node, always: see LookForRows.
  NodeRecord record = RecordFor(head, *VisibleNode(parent, head));
  if (record.nlink > 2) --record.nlink;
  PutNode(parent, head.id, std::move(record));
}

void Checker::CheckRoot(const Layer& head) {
  const Version* root = VisibleNode(kRootNode, head);
  if (root == nullptr && volume_.base != nullptr) return;  // the base's
  if (root != nullptr && S_ISDIR(root->record.mode)) return;
  const bool repaired = Report("the row of the root directory" + LayerText(head.id) +
                                   " is lost; it gets mode 755 and this user",
                               true);
  if (!repaired) return;
  const LayerId layer = nodes_.contains(kRootNode) ? head.id : kRootLayer;
  PutNode(kRootNode, layer, NewDirectory(layer));
}

// Link counts and reachability, as one branch or snapshot sees them.
void Checker::CheckHead(const Layer& head) {
  CheckRoot(head);
  HeadTree tree = ReadHead(head);
  Reach(head, &tree);
  absl::flat_hash_map<NodeId, uint32_t> names;
  for (const HeadTree::Edge& edge : tree.files) {
    if (tree.reached.contains(edge.parent)) ++names[edge.child];
  }
  LayerCounters truth;
  std::vector<std::pair<NodeId, uint32_t>> wrong;
  for (const auto& [node, versions] : nodes_) {
    const Version* version = VisibleNode(node, head);
    if (version == nullptr) continue;
    const NodeRecord& record = version->record;
    const bool directory = S_ISDIR(record.mode);
    const auto found = names.find(node);
    const uint32_t count = found == names.end() ? 0 : found->second;
    // A node of the base may have names that only the base knows.
    const bool reached = directory ? tree.reached.contains(node) : count > 0 || IsBaseNode(node);
    if (!reached && !orphan_nodes_.contains(node)) {
      unreachable_.push_back({node, version->layer, head.id});
      if (repair_) continue;
    } else if (reached) {
      reached_.insert({node, version->layer});
      if (!directory && !IsBaseNode(node) && count != record.nlink) wrong.push_back({node, count});
    }
    (directory ? truth.directories : truth.files) += 1;
    if (S_ISREG(record.mode)) truth.total_size += static_cast<int64_t>(record.size);
  }
  for (const auto& [node, count] : wrong) CorrectLinks(node, count, head);
  CheckHeadCounters(head, truth);
}

void Checker::CorrectLinks(NodeId node, uint32_t count, const Layer& head) {
  const Version& version = *VisibleNode(node, head);
  const bool repaired =
      Report(NodeText(node) + LayerText(version.layer) + " has " + std::to_string(count) +
                 " names but a link count of " + std::to_string(version.record.nlink),
             true);
  if (!repaired) return;
  NodeRecord fixed = RecordFor(head, version);
  fixed.nlink = count;
  PutNode(node, head.id, std::move(fixed));
}

// With the entries that it had, which would else look like those of a directory that is lost.
void Checker::RemoveVersion(NodeId node, LayerId layer) {
  Delete(tables::kNodes, NodeKey(node, layer));
  --node_records_;
  volume_.node_records.fetch_sub(1);
  std::vector<Version>& versions = nodes_[node];
  std::erase_if(versions, [&](const Version& version) { return version.layer == layer; });
  const bool last = versions.empty();
  if (last) nodes_.erase(node);
  for (auto it = entries_.lower_bound({node, ""}); it != entries_.end(); ++it) {
    if (it->first.first != node) break;
    for (const EntryVersion& entry : it->second) {
      if (!last && entry.layer != layer) continue;
      Delete(tables::kEntries, EntryKey(node, it->first.second, entry.layer));
    }
  }
}

// What no head reaches goes; what another one reaches is removed from those that do not.
void Checker::RemoveUnreachable() {
  absl::flat_hash_set<std::pair<NodeId, LayerId>> reported;
  for (const Unreachable& lost : unreachable_) {
    const bool elsewhere = reached_.contains({lost.node, lost.layer});
    if (!elsewhere && !reported.insert({lost.node, lost.layer}).second) continue;
    // A row of the head's own that a layer above it reaches must stay.
    const bool repaired =
        Report(NodeText(lost.node) + LayerText(lost.layer) + " cannot be reached by any name",
               !elsewhere || lost.layer != lost.head);
    if (!repaired) continue;
    if (elsewhere) {
      const NodeRecord& record = FindVersion(lost.node, lost.layer)->record;
      NodeRecord tombstone;
      tombstone.mode = record.mode;
      tombstone.born = record.born;
      PutNode(lost.node, lost.head, std::move(tombstone));
    } else {
      RemoveVersion(lost.node, lost.layer);
    }
  }
}

}  // namespace agentfs
