// SPDX-License-Identifier: Apache-2.0
//
// Checks every invariant of docs/design/storage-format.md and, if asked to, repairs what can be
// repaired without guessing. Reads all rows; memory in proportion to nodes and entries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "agentfs/volume.h"
#include "core/layer_tree.h"
#include "core/records.h"
#include "core/volume_state.h"

namespace agentfs {

// "node 7", " of layer 3": for messages.
std::string NodeText(NodeId node);
std::string LayerText(LayerId layer);

// Not thread-safe; everything is committed and nothing changes meanwhile.
class Checker {
 public:
  // `heads`: the layers that branches and snapshots name, parents before children.
  Checker(VolumeState& volume, std::vector<Layer*> heads, bool repair)
      : volume_(volume), heads_(std::move(heads)), repair_(repair) {}

  Result<FsckReport> Check();

 private:
  struct Version {
    LayerId layer;
    NodeRecord record;
  };
  struct EntryVersion {
    LayerId layer;
    NodeId node;
  };
  using EntryName = std::pair<NodeId, std::string>;

  Result<void> ReadNodes();
  Result<void> ReadEntries();
  Result<void> ReadObjects();
  Result<void> ReadOrphans();
  Result<void> CheckContent(TableId table, uint64_t unit);
  Result<void> CheckXattrs();
  Result<void> CheckObjects();
  Result<void> CheckGrowing();
  void CheckCounters();
  void CheckHeadCounters(const Layer& head, const LayerCounters& truth);

  // ---- fsck_tree.cc
  struct HeadTree;
  struct Unreachable {
    NodeId node;
    LayerId layer;  // of the visible version
    LayerId head;
  };
  void CheckEntries();
  void MendLostDirectories();
  void CheckHead(const Layer& head);
  void CheckRoot(const Layer& head);
  HeadTree ReadHead(const Layer& head);
  void CheckRemovedName(const EntryName& name, const EntryVersion& version, const Layer& head);
  void Reach(const Layer& head, HeadTree* tree);
  void Cut(const Layer& head, const HeadTree& tree, NodeId parent, const std::string& name,
           LayerId layer, NodeId child);
  void CorrectLinks(NodeId node, uint32_t count, const Layer& head);
  void RemoveUnreachable();
  void RemoveVersion(NodeId node, LayerId layer);
  void PutNode(NodeId node, LayerId layer, NodeRecord record);
  void PutWhiteout(NodeId parent, const std::string& name, LayerId layer);
  static NodeRecord RecordFor(const Layer& head, const Version& version);

  bool LayerExists(LayerId layer) const;
  bool IsOpen(LayerId layer) const;
  // Whether there is a version, also one that says that the node does not exist, at `top`.
  bool HasVersion(NodeId node, const Layer& top) const;
  const Version* FindVersion(NodeId node, LayerId layer) const;
  // The version of a node that is visible at `top`; null: none, or removed.
  const Version* VisibleNode(NodeId node, const Layer& top) const;
  // Reports; true if it is to be repaired.
  bool Report(std::string what, bool repairable);
  void ReportLayer(const std::string& what, LayerId layer, TableId table, std::string_view key);
  void Delete(TableId table, std::string key);
  void Put(TableId table, std::string key, std::string value);

  VolumeState& volume_;
  const std::vector<Layer*> heads_;
  const bool repair_;
  FsckReport report_;
  Batch repairs_;

  absl::flat_hash_map<NodeId, std::vector<Version>> nodes_;
  absl::btree_map<EntryName, std::vector<EntryVersion>> entries_;
  absl::flat_hash_map<ContentId, uint64_t> content_sizes_;  // the greatest of any version
  absl::flat_hash_map<ObjectId, ObjectRowKey> objects_;
  absl::flat_hash_set<NodeId> orphan_nodes_;
  absl::flat_hash_set<ContentId> orphan_contents_;
  absl::flat_hash_map<LayerId, int64_t> stored_;  // as counted from the rows
  int64_t node_records_ = 0;
  // Of all heads: versions that one of them reaches, and those that one does not.
  absl::flat_hash_set<std::pair<NodeId, LayerId>> reached_;
  std::vector<Unreachable> unreachable_;
  absl::flat_hash_set<NodeId> lost_directories_;  // whose row is missing
};

}  // namespace agentfs
