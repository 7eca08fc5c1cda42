// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/invalidator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "adapters/fuse/virtual_tree.h"

namespace agentfs::fuse {
namespace {

// A kernel that does not know some inodes yet.
class FakeKernel final : public Notifier {
 public:
  // What it does when it is told of an inode, on the Invalidator's thread: whether it knows it.
  using Told = std::function<bool(uint64_t node)>;
  explicit FakeKernel(Told told) : told_(std::move(told)) {}

  Result<bool> InvalidateInode(uint64_t node, int64_t, int64_t) const override {
    return told_(node);
  }
  Result<void> InvalidateEntry(uint64_t, std::string_view, Entry) const override { return Ok(); }
  Result<void> Deleted(uint64_t, uint64_t, std::string_view) const override { return Ok(); }
  Result<void> InvalidateAllEntries() const override { return Ok(); }

 private:
  const Told told_;
};

class InvalidatorTest : public testing::Test {
 protected:
  // So often is the kernel told of `late_` before it knows it.
  static constexpr int kTries = 40;

  uint64_t Learn(std::string_view name) {
    return inodes_.Learn(tree_, tree_->fs().Lookup({}, *tree_->fs().Root(), name)->node).id;
  }
  void Start(const FakeKernel& kernel) { invalidator_.Start(inodes_, kernel, nullptr, nullptr); }

  Invalidator invalidator_;
  std::shared_ptr<Tree> tree_ = std::make_shared<Tree>(
      Tree::Kind::kVirtual,
      std::make_shared<VirtualTree>(VirtualTree::Layout::kControl, nullptr, 0, 0), "one", 1,
      invalidator_);
  InodeTable inodes_{tree_, tree_->fs().Root()};
  const uint64_t late_ = Learn("control");
  const uint64_t known_ = Learn("snapshots");
  std::atomic<int> tries_{0};  // to tell of `late_`
};

TEST_F(InvalidatorTest, WhatIsQueuedIsSent) {
  std::atomic<uint64_t> told{0};
  const FakeKernel kernel([&](uint64_t node) {
    told = node;
    return true;
  });
  Start(kernel);
  invalidator_.Data(known_);
  invalidator_.Flush();
  EXPECT_EQ(told, known_);
  invalidator_.Stop();
}

// However much is queued and sent meanwhile.
TEST_F(InvalidatorTest, FlushWaitsForWhatIsTriedAgain) {
  const FakeKernel kernel([&](uint64_t node) {
    if (node != late_) return true;
    invalidator_.Data(known_);
    return ++tries_ >= kTries;
  });
  Start(kernel);
  invalidator_.Data(late_);
  invalidator_.Flush();
  EXPECT_EQ(tries_, kTries);
  invalidator_.Stop();
}

TEST_F(InvalidatorTest, WhatIsTriedAgainGetsItsTurnWhileMoreIsQueued) {
  const FakeKernel kernel([&](uint64_t node) {
    if (node == late_) return ++tries_ >= kTries;
    if (tries_ < kTries) invalidator_.Data(known_);  // the queue is never empty
    return true;
  });
  Start(kernel);
  invalidator_.Data(late_);
  invalidator_.Data(known_);
  invalidator_.Flush();
  EXPECT_EQ(tries_, kTries);
  invalidator_.Stop();
}

// What was changed again while it was tried again is told after the second change.
TEST_F(InvalidatorTest, FlushWaitsForWhatIsToldTogether) {
  const FakeKernel kernel([&](uint64_t node) {
    if (node == late_ && ++tries_ == kTries / 2) invalidator_.Data(late_);
    return node != late_ || tries_ >= kTries;
  });
  Start(kernel);
  invalidator_.Data(late_);
  invalidator_.Flush();
  EXPECT_GE(tries_, kTries);
  invalidator_.Stop();
}

TEST_F(InvalidatorTest, WhatTheKernelDoesNotKnowYetIsToldAgainWithEverythingElse) {
  const FakeKernel kernel([&](uint64_t node) { return node != late_ || ++tries_ >= kTries; });
  Start(kernel);
  invalidator_.All();
  invalidator_.Flush();
  EXPECT_EQ(tries_, kTries);
  invalidator_.Stop();
}

TEST_F(InvalidatorTest, FlushDoesNotWaitForWhatTheKernelHasForgotten) {
  const FakeKernel kernel([&](uint64_t node) {
    if (node == late_ && ++tries_ == kTries) inodes_.Forget(late_, 1);
    return node != late_;
  });
  Start(kernel);
  invalidator_.Data(late_);
  invalidator_.Flush();
  EXPECT_EQ(tries_, kTries);
  invalidator_.Stop();
}

TEST_F(InvalidatorTest, FlushDoesNotOutliveStop) {
  std::thread stopper;
  const FakeKernel kernel([&](uint64_t node) {
    if (node == late_ && ++tries_ == kTries) stopper = std::thread([&] { invalidator_.Cease(); });
    return node != late_;
  });
  Start(kernel);
  invalidator_.Data(late_);
  invalidator_.Flush();
  invalidator_.Stop();
  stopper.join();
}

}  // namespace
}  // namespace agentfs::fuse
