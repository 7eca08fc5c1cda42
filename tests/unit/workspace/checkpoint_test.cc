// SPDX-License-Identifier: Apache-2.0
#include "workspace/checkpoint.h"

#include <gtest/gtest.h>

#include "core_rig.h"

namespace agentfs {
namespace {

class CheckpointTest : public CoreTest {
 protected:
  SnapshotInfo Take(const std::string& command) {
    return Get(TakeCheckpoint(volume(), "main", CheckpointFor::kRun, command)).snapshot;
  }
};

TEST_F(CheckpointTest, RestoringTheLastOneUndoesWhatCameAfterIt) {
  BaseFile("f", "base");
  OpenOverBase();
  auto fs = Branch();
  Get(fs->WriteFile("f", "mine"));
  const SnapshotInfo taken = Take("make");
  EXPECT_EQ(taken.message, "before run: make");
  Get(fs->WriteFile("f", "theirs"));
  EXPECT_EQ(LastCheckpoint(volume(), "main")->name, taken.name);
  Get(volume().Restore("main", taken.name));
  EXPECT_EQ(Get(fs->ReadFile("f")), "mine");
}

TEST_F(CheckpointTest, ABranchThatHasNotChangedKeepsItsLastOne) {
  OpenOverBase();
  auto fs = Branch();
  const SnapshotInfo first = Take("ls");
  EXPECT_EQ(Take("ls again").name, first.name);
  Get(fs->WriteFile("f", "x"));
  EXPECT_NE(Take("ls").name, first.name);
}

TEST_F(CheckpointTest, BeforeAnEditThereIsOneIfTheBranchHasChanged) {
  OpenOverBase();
  auto fs = Branch();
  const auto take = [&] {
    return Get(TakeCheckpoint(volume(), "main", CheckpointFor::kTool, "write_file /f"));
  };
  const Checkpoint first = take();
  EXPECT_TRUE(first.taken);
  EXPECT_EQ(first.snapshot.message, "before tool: write_file /f");
  EXPECT_FALSE(take().taken);
  EXPECT_EQ(take().snapshot.name, first.snapshot.name);
  EXPECT_EQ(volume().ListSnapshots().size(), 1u);
  Get(fs->WriteFile("f", "x"));
  const Checkpoint second = take();
  EXPECT_TRUE(second.taken);
  EXPECT_EQ(LastCheckpoint(volume(), "main")->name, second.snapshot.name);
  Get(volume().Restore("main", first.snapshot.name));
  EXPECT_FALSE(fs->ReadFile("f").ok());
}

TEST_F(CheckpointTest, SnapshotsOfPeopleAreNone) {
  OpenOverBase();
  Get(volume().CreateSnapshot("main", "mine", "before run: x", Durability::kNone));
  Get(volume().CreateSnapshot("main", "", "all green", Durability::kNone));
  EXPECT_FALSE(LastCheckpoint(volume(), "main").has_value());
}

TEST_F(CheckpointTest, ThePolicySaysWhichAreKept) {
  OpenOverBase();
  auto fs = Branch();
  Get(volume().CreateSnapshot("main", "named", "", Durability::kNone));
  for (int i = 0; i < 8; ++i) {
    Get(fs->WriteFile("f", std::to_string(i)));
    Take("x");
  }
  Get(volume().CreateSnapshot("main", "", "of a person", Durability::kNone));
  EXPECT_EQ(Get(PruneCheckpoints(volume(), "main", {.keep_last = 8})), 0u);
  EXPECT_EQ(Get(PruneCheckpoints(volume(), "other", {.keep_last = 0})), 0u);
  EXPECT_EQ(
      Get(PruneCheckpoints(volume(), "main", {.keep_last = 3, .keep_hourly = 0, .keep_daily = 0})),
      5u);
  EXPECT_EQ(volume().ListSnapshots().size(), 5u) << "with the two that are nobody's to prune";
  // Hours and days keep the newest of theirs, which is among the last.
  EXPECT_EQ(
      Get(PruneCheckpoints(volume(), "main", {.keep_last = 1, .keep_hourly = 5, .keep_daily = 5})),
      2u);
  EXPECT_EQ(
      Get(PruneCheckpoints(volume(), "main", {.keep_last = 0, .keep_hourly = 0, .keep_daily = 0})),
      0u)
      << "the newest stays, for undo";
  Get(volume().CollectGarbage());
  EXPECT_EQ(Get(fs->ReadFile("f")), "7");
}

}  // namespace
}  // namespace agentfs
