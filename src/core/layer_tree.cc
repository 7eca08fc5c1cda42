// SPDX-License-Identifier: Apache-2.0
#include "core/layer_tree.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace agentfs {

const Layer* Layer::AncestorAtMost(LayerId wanted) const {
  const Layer* layer = this;
  while (layer != nullptr && layer->id > wanted) {
    const bool far = layer->jump != nullptr && layer->jump->id > wanted;
    layer = far ? layer->jump : layer->parent;
  }
  return layer;
}

// Skew-binary jump pointers: a layer jumps twice as far as its parent whenever the parent's last
// two jumps were equally long.
void LayerTree::Attach(Layer* layer, Layer* parent) {
  layer->parent = parent;
  layer->depth = parent ? parent->depth + 1 : 0;
  layer->jump = parent;
  if (parent != nullptr && parent->jump != nullptr && parent->jump->jump != nullptr) {
    const uint32_t near = parent->depth - parent->jump->depth;
    const uint32_t far = parent->jump->depth - parent->jump->jump->depth;
    if (near == far) layer->jump = parent->jump->jump;
  }
}

Layer* LayerTree::Add(LayerId id, Layer* parent, int64_t created_ns) {
  auto owned = std::make_unique<Layer>();
  Layer* layer = owned.get();
  layer->id = id;
  layer->created_ns = created_ns;
  Attach(layer, parent);
  if (parent != nullptr) {
    ++parent->children;
    layer->counters.CopyViewTotals(parent->counters);
  }
  layers_[id] = std::move(owned);
  return layer;
}

Layer* LayerTree::Find(LayerId id) const {
  auto it = layers_.find(id);
  return it == layers_.end() ? nullptr : it->second.get();
}

std::vector<Layer*> LayerTree::All() const {
  std::vector<Layer*> all;
  all.reserve(layers_.size());
  for (const auto& [id, layer] : layers_) all.push_back(layer.get());
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->id < b->id; });
  return all;
}

void LayerTree::Remove(const std::vector<Layer*>& layers) {
  absl::flat_hash_set<const Layer*> gone(layers.begin(), layers.end());
  std::vector<Layer*> all = All();
  for (Layer* layer : all) layer->children = 0;
  for (Layer* layer : all) {  // parents before children
    if (gone.contains(layer)) continue;
    Layer* parent = layer->parent;
    while (parent != nullptr && gone.contains(parent)) parent = parent->parent;
    Attach(layer, parent);
    if (parent != nullptr) ++parent->children;
  }
  for (const Layer* layer : layers) layers_.erase(layer->id);
}

}  // namespace agentfs
