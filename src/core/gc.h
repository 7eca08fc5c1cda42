// SPDX-License-Identifier: Apache-2.0
//
// Reclaiming: layers that no name leads to are removed; sealed layers that nobody names are merged
// into their only child. Both go through the journal in pieces and may be cut short anywhere.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "agentfs/volume.h"
#include "core/journal.h"
#include "core/layer_tree.h"
#include "core/records.h"
#include "core/volume_state.h"

namespace agentfs {

// Not thread-safe; the caller keeps names and views from changing.
class GarbageCollector {
 public:
  explicit GarbageCollector(VolumeState& volume) : volume_(volume) {}

  // `layer` is a leaf that nobody names and no view shows.
  Result<void> RemoveLayer(Layer* layer);
  // `run` are sealed unnamed layers in a line, the oldest first, each the only child of the one
  // before; `child` is the only child of the last, and no view writes to it.
  Result<void> MergeInto(const std::vector<Layer*>& run, Layer* child);
  // Object files that no row knows. Nothing may be writing.
  Result<void> RemoveStrayObjects();

  const GcReport& report() const { return report_; }

 private:
  // Changes to be appended together; appended in pieces to keep each Change short.
  struct Work {
    std::vector<Mutation> mutations;
    std::vector<ObjectId> dropped_objects;
    int64_t dropped_bytes = 0;
  };
  void Delete(Work* work, TableId table, std::string key);
  void Put(Work* work, TableId table, std::string key, std::string value, Buffer blob = {});
  Result<void> Append(Work work);
  Result<void> DropContent(Work* work, ContentId content, LayerId layer);
  Result<void> DropOrphans(Work* work, LayerId layer);
  Result<void> DropXattrs(Work* work, NodeId node, LayerId layer);

  Result<void> MergeLayer(Layer* layer, Layer* child);
  Result<void> MergeNode(Work* work, const Row& row, LayerId layer, LayerId child);
  Result<void> MergeEntry(Work* work, const Row& row, LayerId child);
  Result<void> MoveContent(Work* work, ContentId content, LayerId layer, LayerId child);
  // Moves a row to the child unless the child has its own; then it is dropped.
  Result<bool> MoveRow(Work* work, TableId table, const std::string& key, LayerId child);

  VolumeState& volume_;
  absl::flat_hash_set<LayerId> merging_;
  absl::flat_hash_set<NodeId> removed_;  // nodes that do not exist in the child
  GcReport report_;
};

}  // namespace agentfs
