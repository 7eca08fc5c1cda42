// SPDX-License-Identifier: Apache-2.0
//
// Applying what was done at random: a directory of the host, to which the same was done, is what
// the base must be then.
#include <random>

#include "apply_rig.h"
#include "native_subject.h"
#include "random_changes.h"
#include "workspace/restore_paths.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

constexpr uint32_t kRounds = 8;  // each with a seed of its own
constexpr int kParts = 6;

class ApplyRandomTest : public ApplyTest, public testing::WithParamInterface<uint32_t> {
 protected:
  void Change(posix::Subject& subject, uint32_t seed) {
    RandomChanges(subject, seed, RandomChanges::Links::kWithin).Make(40);
  }
  // One of the paths that differ, and what is below it.
  void ApplyAPart(std::mt19937& random, const Tree& shown) {
    const std::vector<std::string> left = Differences();
    if (left.empty()) return;
    const std::string path = left[random() % left.size()];
    SCOPED_TRACE("a part: " + path);
    Applier applier = Open();
    const ApplyPlan plan = PlanAll(applier, OnConflict::kRefuse, {path});
    for (const ApplyConflict& conflict : plan.conflicts) {
      EXPECT_EQ(conflict.kind, ApplyConflict::Kind::kMoved)
          << conflict.path << ": " << conflict.reason();
    }
    if (plan.conflicts.empty()) {
      Get(applier.Apply(plan, "main", Applier::Extent::kPaths));
      EXPECT_THAT(Differences(), testing::Not(testing::Contains(path)));
    }
    EXPECT_EQ(DumpView(*Branch()), shown);
  }
  void ApplyAndMeanwhile(const std::function<void()>& work) {
    Applier applier = Open();
    const ApplyPlan plan = PlanAll(applier);
    EXPECT_THAT(Paths(plan.conflicts), IsEmpty());
    work();
    Get(applier.Apply(plan, "main", Applier::Extent::kWhole));
  }
  // But of a file that was moved and written before an apply, and moved again meanwhile, the branch
  // knows only that the base has it no more where it was.
  void ExpectNoConflictWithOurselves() {
    Applier applier = Open();
    for (const ApplyConflict& each :
         Get(applier.Plan("main", {"main", {}, OnConflict::kRefuse})).conflicts) {
      EXPECT_EQ(each.kind, ApplyConflict::Kind::kVanished) << each.path << ": " << each.reason();
    }
  }
  void DiscardAPart(std::mt19937& random) {
    const std::vector<std::string> left = Differences();
    if (left.empty()) return;
    const std::string path = left[random() % left.size()];
    SCOPED_TRACE("discarded: " + path);
    const Tree before = DumpView(*Branch()), base = DumpView(*Snapshot("base"));
    Get(volume().CreateSnapshot("main", "", "before discard", Durability::kNone));
    Get(RestorePaths(volume(), "main", "base", {path}, {}));
    const Tree after = DumpView(*Branch());
    const auto part_of = [&](const Tree& tree, bool here) {
      Tree part;
      for (const auto& [name, text] : tree) {
        const bool is_here = IsAtOrBelow("/" + name, {path});
        if (is_here == here && !IsAtOrBelow(path, {"/" + name})) part[name] = text;
      }
      return part;
    };
    EXPECT_EQ(part_of(after, true), part_of(base, true));
    EXPECT_EQ(part_of(after, false), part_of(before, false));
    EXPECT_THAT(Differences(), testing::Not(testing::Contains(path)));
  }
  // Of the base, the branch, and a snapshot that was taken before.
  void ExpectApplied(const Tree& twin, const Tree& shown, const std::string& snapshot) {
    EXPECT_EQ(Content(Dump(layout_.base)), twin);
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(DumpView(*Branch()), shown);
    EXPECT_EQ(DumpView(*Snapshot(snapshot)), shown);
  }
};

TEST_P(ApplyRandomTest, TheBaseIsWhatTheSameChangesMakeOfADirectory) {
  OpenOverBase(Backing::kSqlite);
  const uint32_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string twin = state() + "/twin";
  fs::create_directories(twin);
  for (uint32_t round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Tree before = Dump(layout_.base);
    Change(*Branch(), seed + round);
    Change(*Get(posix::OpenNativeSubject(twin)), seed + round);
    const Tree wanted = Content(Dump(twin)), shown = DumpView(*Branch());
    const std::string snapshot = "round-" + std::to_string(round);
    Get(volume().CreateSnapshot("main", snapshot, "", Durability::kNone));
    ApplyAll();
    ExpectApplied(wanted, shown, snapshot);
    Get(Open().UndoLast());
    EXPECT_EQ(Dump(layout_.base), before);
    EXPECT_EQ(DumpView(*Branch()), shown);
    EXPECT_EQ(DumpView(*Snapshot(snapshot)), shown);
    EXPECT_THAT(Conflicts(), IsEmpty());
    ApplyAll();
    ExpectApplied(wanted, shown, snapshot);
    if (round % 4 == 3) Reopen();
    ExpectClean();
  }
}

// Only what the branch has moved cannot be taken apart.
TEST_P(ApplyRandomTest, PartsAreAppliedInAnyOrder) {
  OpenOverBase(Backing::kSqlite);
  const uint32_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string twin = state() + "/twin";
  fs::create_directories(twin);
  for (uint32_t round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Change(*Branch(), seed + round);
    Change(*Get(posix::OpenNativeSubject(twin)), seed + round);
    const Tree wanted = Content(Dump(twin)), shown = DumpView(*Branch());
    const std::string snapshot = "round-" + std::to_string(round);
    Get(volume().CreateSnapshot("main", snapshot, "", Durability::kNone));
    for (int part = 0; part < kParts && !HasFailure(); ++part) ApplyAPart(random, shown);
    ApplyAll();
    ExpectApplied(wanted, shown, snapshot);
    ExpectClean();
  }
}

// Programs go on working while what they had done before is applied.
TEST_P(ApplyRandomTest, WhatIsChangedMeanwhileStaysAndIsAppliedNext) {
  OpenOverBase(Backing::kSqlite);
  const uint32_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string twin = state() + "/twin";
  fs::create_directories(twin);
  const auto change_both = [&](uint32_t with) {
    Change(*Branch(), with);
    Change(*Get(posix::OpenNativeSubject(twin)), with);
  };
  for (uint32_t round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    change_both(seed + round);
    Tree planned, shown;
    ApplyAndMeanwhile([&] {
      planned = Content(Dump(twin));
      change_both(seed + kRounds + round);
      shown = DumpView(*Branch());
    });
    EXPECT_EQ(Content(Dump(layout_.base)), planned);
    EXPECT_EQ(DumpView(*Branch()), shown);
    ExpectNoConflictWithOurselves();
    if (round % 4 == 3) Reopen();
    EXPECT_EQ(DumpView(*Branch()), shown);
    ApplyAll(OnConflict::kOverwrite);
    EXPECT_EQ(Content(Dump(layout_.base)), Content(Dump(twin)));
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(DumpView(*Branch()), shown);
    ExpectClean();
  }
}

// The branch has there what the base has, and elsewhere what it had.
TEST_P(ApplyRandomTest, PartsAreDiscarded) {
  OpenOverBase(Backing::kSqlite);
  const uint32_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (uint32_t round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Change(*Branch(), seed + round);
    for (int part = 0; part < kParts && !HasFailure(); ++part) DiscardAPart(random);
    if (round % 2 == 0) ApplyAll();
    ExpectClean();
  }
}

// Those that have found something, or a hundred others from AGENTFS_TEST_SEED on; the directories
// of the host, and so the order of what is done, are new each time all the same.
std::vector<uint32_t> Seeds() {
  const char* text = std::getenv("AGENTFS_TEST_SEED");
  if (text == nullptr) {
    return {2349881349, 1548389941, 7919, 23757, 3442240791, 1044, 90000056, 5144};
  }
  std::vector<uint32_t> seeds;
  const auto first = static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
  for (uint32_t i = 0; i < 100; ++i) seeds.push_back(first + i * kRounds);
  return seeds;
}

INSTANTIATE_TEST_SUITE_P(Random, ApplyRandomTest, testing::ValuesIn(Seeds()));

}  // namespace
}  // namespace agentfs
