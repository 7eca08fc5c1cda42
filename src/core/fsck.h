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

// Not thread-safe; everything is committed and nothing changes meanwhile.
class Checker {
 public:
  // `heads`: the layers that branches and snapshots name.
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
  void CheckEntries();
  void CheckHead(const Layer& head);
  Result<void> CheckObjects();
  void CheckCounters();
  void CheckHeadCounters(const Layer& head, const LayerCounters& truth);

  bool LayerExists(LayerId layer) const;
  // Whether the visible version of the node says that it does not exist.
  bool IsRemoved(NodeId node, const Layer& top) const;
  // The version of a node that is visible at `top`; null: none, or removed.
  const Version* VisibleNode(NodeId node, const Layer& top) const;
  // Reports; true if it is to be repaired.
  bool Report(std::string what, bool repairable);
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
};

}  // namespace agentfs
