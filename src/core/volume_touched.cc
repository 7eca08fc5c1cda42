// SPDX-License-Identifier: Apache-2.0
//
// A layer is a diff: what its rows name is what changed in it.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "core/layer_rows.h"
#include "core/view_nodes.h"
#include "core/volume_impl.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// The layers that one of the two has and the other has not. A parent's id is the smaller one.
std::vector<LayerId> LayersBetween(const Layer* a, const Layer* b) {
  std::vector<LayerId> between;
  while (a != b) {
    const Layer*& later = b == nullptr || (a != nullptr && a->id.value > b->id.value) ? a : b;
    between.push_back(later->id);
    later = later->parent;
  }
  return between;
}

// Adds each row once, though several layers may have it: the newest, if the layers are on one line.
class TouchedCollector {
 public:
  // Against the base, what was forgotten is what the base has.
  TouchedCollector(VolumeState& volume, bool against_base)
      : volume_(volume), against_base_(against_base) {}

  Result<void> AddLayer(LayerId layer) {
    Store& store = *volume_.store;
    AGENTFS_ASSIGN(const std::vector<Row> names,
                   IndexedRowsOfLayer(store, tables::kEntries, layer));
    for (const Row& row : names) {
      auto key = ParseEntryKey(row.key);
      EntryRecord record;
      if (!key || !DecodeEntry(row.value, &record)) continue;
      if (!seen_.insert(row.key.substr(0, row.key.size() - 8)).second) continue;
      if (against_base_ && record.IsForgotten()) continue;
      touched.names.push_back({key->parent, key->name, record.node, record.since_ms});
    }
    AGENTFS_ASSIGN(const std::vector<Row> nodes, IndexedRowsOfLayer(store, tables::kNodes, layer));
    for (const Row& row : nodes) {
      auto key = ParseNodeKey(row.key);
      NodeRecord record;
      if (!key || !DecodeNode(row.value, &record)) continue;
      if (!nodes_.insert(key->node).second) continue;
      // It is gone, which its names say, or the branch has forgotten it.
      if (against_base_ && record.nlink == 0) continue;
      if (record.has_base) {
        FollowMove(volume_, key->node, record.mode, record.base_signature, &record.base_path);
      }
      touched.nodes.push_back(
          {key->node, record.base_path, record.nlink, record.has_base, record.base_signature});
    }
    return Ok();
  }
  Touched touched;

 private:
  VolumeState& volume_;
  const bool against_base_;
  absl::flat_hash_set<std::string> seen_;
  absl::flat_hash_set<NodeId> nodes_;
};

}  // namespace

Result<const Layer*> VolumeImpl::LayerOf(std::string_view ref) {
  const Layer* layer = nullptr;
  if (auto it = branches_.find(ref); it != branches_.end()) {
    layer = it->second.layer;
  } else if (ref == "base") {
    layer = state_->tree.Find(kRootLayer);
  } else if (SnapshotInfo* snapshot = FindSnapshot(ref)) {
    layer = state_->tree.Find(snapshot->layer);
  }
  if (layer == nullptr) return Error(ENOENT, "'" + std::string(ref) + "' does not exist");
  return layer;
}

Result<Touched> VolumeImpl::TouchedBetween(std::string_view from, std::string_view to) {
  absl::MutexLock lock(&mu_);
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  std::vector<LayerId> layers;
  bool against_base = false, one_line = false;
  {
    absl::ReaderMutexLock tree_lock(&state_->tree_mu);
    AGENTFS_ASSIGN(const Layer* a, LayerOf(from));
    AGENTFS_ASSIGN(const Layer* b, LayerOf(to));
    layers = LayersBetween(a, b);
    one_line = a->HasAncestor(b->id) || b->HasAncestor(a->id);
    against_base = a->id == kRootLayer || b->id == kRootLayer;
  }
  TouchedCollector collector(*state_, against_base);
  for (LayerId layer : layers) AGENTFS_TRY(collector.AddLayer(layer));
  collector.touched.one_line = one_line;
  return std::move(collector.touched);
}

}  // namespace agentfs
