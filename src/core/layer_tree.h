// SPDX-License-Identifier: Apache-2.0
//
// The tree of layers in memory. A layer's id is greater than its parent's, so of the versions of a
// record the visible one is that of the greatest id among the ancestors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agentfs/ids.h"
#include "agentfs/types.h"

namespace agentfs {

// What the rows of a layer add up to. Kept by those who change them, written with the layer's row.
struct LayerCounters {
  // Bytes of content kept by this layer's own rows and objects.
  std::atomic<int64_t> stored_bytes{0};
  // Of the whole view at this layer: nodes with a record of their own, sizes of regular files.
  std::atomic<int64_t> files{0};
  std::atomic<int64_t> directories{0};
  std::atomic<int64_t> total_size{0};

  void CopyViewTotals(const LayerCounters& from) {
    files = from.files.load();
    directories = from.directories.load();
    total_size = from.total_size.load();
  }
};

struct Layer {
  LayerId id;
  Layer* parent = nullptr;
  // A far ancestor, such that finding one takes a logarithmic number of steps.
  Layer* jump = nullptr;
  uint32_t depth = 0;
  bool sealed = false;
  uint64_t sealed_batch = 0;  // all its rows are in this batch or earlier ones; 0: in the store
  int64_t created_ns = 0;
  uint32_t children = 0;
  uint32_t names = 0;   // branches and snapshots that name this layer, and views of it
  bool loaded = false;  // from the store: has_rows is not known
  std::atomic<bool> has_rows{false};  // anything was ever changed in it
  std::atomic<bool> changed{false};   // its row is to be written with the next batch
  LayerCounters counters;

  // The nearest layer among this one and its ancestors whose id is at most `id`; may be null.
  const Layer* AncestorAtMost(LayerId id) const;
  bool HasAncestor(LayerId id) const {
    const Layer* found = AncestorAtMost(id);
    return found != nullptr && found->id == id;
  }
};

// Not thread-safe: VolumeState::tree_mu guards the set of layers. A layer's ancestors stay what
// they are until Remove, for which VolumeState::versions_mu is held too.
class LayerTree {
 public:
  Layer* Add(LayerId id, Layer* parent, int64_t created_ns);
  Layer* Find(LayerId id) const;
  // Takes out layers that have at most one child each, which moves to the nearest parent left.
  void Remove(const std::vector<Layer*>& layers);
  size_t size() const { return layers_.size(); }
  // By id, ascending: parents before children.
  std::vector<Layer*> All() const;

 private:
  static void Attach(Layer* layer, Layer* parent);
  absl::flat_hash_map<LayerId, std::unique_ptr<Layer>> layers_;
};

}  // namespace agentfs
