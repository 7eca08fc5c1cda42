// SPDX-License-Identifier: Apache-2.0
#include "core/layer_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace agentfs {
namespace {

// What AncestorAtMost says, the slow way.
const Layer* Slow(const Layer* layer, LayerId id) {
  while (layer != nullptr && layer->id > id) layer = layer->parent;
  return layer;
}

size_t StepsTo(const Layer* layer, LayerId wanted) {
  size_t steps = 0;
  while (layer != nullptr && layer->id > wanted) {
    const bool far = layer->jump != nullptr && layer->jump->id > wanted;
    layer = far ? layer->jump : layer->parent;
    ++steps;
  }
  return steps;
}

TEST(LayerTreeTest, FindsAncestorsOnALineOfTenThousand) {
  LayerTree tree;
  Layer* top = nullptr;
  for (uint64_t id = 1; id <= 10'000; ++id) top = tree.Add(LayerId(id * 2), top, 0);
  EXPECT_EQ(top->depth, 9999u);
  for (uint64_t id = 0; id <= 20'001; ++id) {
    const Layer* found = top->AncestorAtMost(LayerId(id));
    if (id < 2) {
      EXPECT_EQ(found, nullptr);
    } else {
      ASSERT_NE(found, nullptr) << id;
      EXPECT_EQ(found->id.value, std::min<uint64_t>(id / 2 * 2, 20'000));
    }
    EXPECT_EQ(top->HasAncestor(LayerId(id)), id >= 2 && id <= 20'000 && id % 2 == 0);
    // Logarithmic: a line of steps would be thousands.
    EXPECT_LE(StepsTo(top, LayerId(id)), 60u) << id;
  }
}

TEST(LayerTreeTest, FindsAncestorsAmongManyBranches) {
  LayerTree tree;
  std::mt19937 random(1);
  std::vector<Layer*> layers = {tree.Add(LayerId(1), nullptr, 0)};
  for (uint64_t id = 2; id <= 5000; ++id) {
    // Mostly lines, so that the tree is deep as well as wide.
    Layer* parent = random() % 3 == 0 ? layers[random() % layers.size()] : layers.back();
    layers.push_back(tree.Add(LayerId(id), parent, 0));
  }
  for (int i = 0; i < 50'000; ++i) {
    const Layer* from = layers[random() % layers.size()];
    const LayerId id(random() % 5001);
    ASSERT_EQ(from->AncestorAtMost(id), Slow(from, id));
  }
}

TEST(LayerTreeTest, RemovingALayerJoinsItsNeighbours) {
  LayerTree tree;
  std::mt19937 random(2);
  Layer* top = nullptr;
  std::vector<LayerId> ids;
  for (uint64_t id = 1; id <= 300; ++id) {
    top = tree.Add(LayerId(id), top, 0);
    ids.push_back(top->id);
  }
  Layer* side = tree.Add(LayerId(301), tree.Find(LayerId(150)), 0);
  for (int i = 0; i < 200; ++i) {
    Layer* victim = tree.Find(ids[random() % ids.size()]);
    if (victim == nullptr || victim == top || victim->children != 1 || !victim->parent) continue;
    const LayerId gone = victim->id;
    tree.Remove({victim});
    EXPECT_EQ(tree.Find(gone), nullptr);
    EXPECT_FALSE(top->HasAncestor(gone));
    EXPECT_FALSE(side->HasAncestor(gone));
  }
  for (uint64_t id = 0; id <= 301; ++id) {
    ASSERT_EQ(top->AncestorAtMost(LayerId(id)), Slow(top, LayerId(id)));
    ASSERT_EQ(side->AncestorAtMost(LayerId(id)), Slow(side, LayerId(id)));
  }
  EXPECT_TRUE(side->HasAncestor(LayerId(1)));
  const std::vector<Layer*> all = tree.All();
  EXPECT_EQ(all.size(), tree.size());
  for (const Layer* layer : all) {
    EXPECT_TRUE(layer->parent == nullptr || layer->parent->id < layer->id);
  }
}

TEST(LayerTreeTest, AChildStartsWithTheTotalsOfItsParent) {
  LayerTree tree;
  Layer* parent = tree.Add(LayerId(1), nullptr, 0);
  parent->counters.files = 7;
  parent->counters.directories = 3;
  parent->counters.total_size = 1000;
  parent->counters.stored_bytes = 500;
  const Layer* child = tree.Add(LayerId(2), parent, 5);
  EXPECT_EQ(child->counters.files, 7);
  EXPECT_EQ(child->counters.directories, 3);
  EXPECT_EQ(child->counters.total_size, 1000);
  EXPECT_EQ(child->counters.stored_bytes, 0) << "what is stored is the layer's own";
  EXPECT_EQ(parent->children, 1u);
  EXPECT_EQ(child->created_ns, 5);
}

}  // namespace
}  // namespace agentfs
