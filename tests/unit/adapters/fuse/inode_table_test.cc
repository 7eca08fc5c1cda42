// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/inode_table.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "adapters/fuse/virtual_tree.h"

namespace agentfs::fuse {
namespace {

class NoObserver : public TreeObserver {
  void Changed(const Tree&, const ChangeEvent&) override {}
};

class InodeTableTest : public testing::Test {
 protected:
  static std::shared_ptr<Tree> MakeTree(TreeObserver& observer, const std::string& name) {
    return std::make_shared<Tree>(
        Tree::Kind::kVirtual,
        std::make_shared<VirtualTree>(VirtualTree::Layout::kControl, nullptr, 0, 0), name, 1,
        observer);
  }
  NodeRef Child(const std::shared_ptr<Tree>& tree, std::string_view name) {
    return tree->fs().Lookup({}, *tree->fs().Root(), name)->node;
  }

  NoObserver observer_;
  std::shared_ptr<Tree> tree_ = MakeTree(observer_, "one");
  InodeTable table_{tree_, tree_->fs().Root()};
};

TEST_F(InodeTableTest, TheRootIsThereForEver) {
  ASSERT_NE(table_.Get(kRootId), nullptr);
  table_.Forget(kRootId, 1000);
  EXPECT_EQ(table_.Get(kRootId)->node, tree_->fs().Root());
  EXPECT_EQ(table_.Find(*tree_, tree_->fs().Root()->id()), kRootId);
}

TEST_F(InodeTableTest, ANodeHasOneIdUntilItIsForgottenAsOftenAsItWasTold) {
  const NodeRef node = Child(tree_, "control");
  const uint64_t id = table_.Learn(tree_, node).id;
  EXPECT_EQ(table_.Learn(tree_, node).id, id);
  EXPECT_EQ(table_.Learn(tree_, node).id, id);
  EXPECT_EQ(table_.size(), 1u);
  table_.Forget(id, 2);
  ASSERT_NE(table_.Get(id), nullptr);
  EXPECT_EQ(table_.Find(*tree_, node->id()), id);
  table_.Forget(id, 1);
  EXPECT_EQ(table_.Get(id), nullptr);
  EXPECT_EQ(table_.Find(*tree_, node->id()), 0u);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(InodeTableTest, WhatTheKernelWasToldHoldsInOneDirectoryUntilSomethingChanges) {
  const NodeRef node = Child(tree_, "control");
  EXPECT_FALSE(table_.IsTold(*tree_, node->id(), kRootId, 0));
  Inode& inode = table_.Learn(tree_, node);
  inode.parent = kRootId;
  EXPECT_FALSE(table_.IsTold(*tree_, node->id(), kRootId, 0));
  inode.told = 5 + 1;
  EXPECT_TRUE(table_.IsTold(*tree_, node->id(), kRootId, 5));
  EXPECT_FALSE(table_.IsTold(*tree_, node->id(), kRootId, 6));
  EXPECT_FALSE(table_.IsTold(*tree_, node->id(), kRootId + 1, 5));
  table_.Forget(inode.id, 1);
  EXPECT_FALSE(table_.IsTold(*tree_, node->id(), kRootId, 5));
}

TEST_F(InodeTableTest, AnIdThatIsUsedAgainHasAnotherGeneration) {
  const NodeRef node = Child(tree_, "control");
  const Inode& first = table_.Learn(tree_, node);
  const uint64_t id = first.id, generation = first.generation;
  table_.Forget(id, 1);
  const Inode& second = table_.Learn(tree_, node);
  EXPECT_TRUE(second.id != id || second.generation != generation);
}

TEST_F(InodeTableTest, TreesHaveIdsOfTheirOwn) {
  const auto other = MakeTree(observer_, "two");
  const uint64_t mine = table_.Learn(tree_, Child(tree_, "control")).id;
  const uint64_t theirs = table_.Learn(other, Child(other, "control")).id;
  EXPECT_NE(mine, theirs);
  EXPECT_EQ(table_.Get(mine)->tree, tree_);
  EXPECT_EQ(table_.Get(theirs)->tree, other);
}

TEST_F(InodeTableTest, ATreeLivesAsLongAsItsInodes) {
  auto other = MakeTree(observer_, "two");
  const std::weak_ptr<Tree> watch = other;
  const uint64_t id = table_.Learn(other, Child(other, "control")).id;
  other.reset();
  EXPECT_FALSE(watch.expired());
  table_.Forget(id, 1);
  EXPECT_TRUE(watch.expired());
}

TEST_F(InodeTableTest, UnknownIdsAreNothing) {
  EXPECT_EQ(table_.Get(0), nullptr);
  EXPECT_EQ(table_.Get(77), nullptr);
  EXPECT_EQ(table_.Get(UINT64_MAX), nullptr);
  table_.Forget(77, 1);
}

TEST_F(InodeTableTest, ThreadsLearnAndForgetTheSameNodes) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const NodeRef nodes[] = {Child(tree_, "control"), Child(tree_, "snapshots")};
      for (int i = 0; i < 20'000; ++i) {
        Inode& inode = table_.Learn(tree_, nodes[i % 2]);
        const uint64_t id = inode.id;
        EXPECT_EQ(table_.Get(id), &inode);
        EXPECT_EQ(inode.node, nodes[i % 2]);
        table_.Forget(id, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table_.size(), 0u);
}

}  // namespace
}  // namespace agentfs::fuse
