// SPDX-License-Identifier: Apache-2.0
//
// Where the base is not what the branch has seen.
#include "apply_rig.h"
#include "workspace/restore_paths.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(ApplyTest, ListsEveryConflictAndWritesNothing) {
  MakeBase();
  BaseFile("replaced", "old");
  BaseFile("vanishes", "v");
  OpenOverBase(Backing::kSqlite);
  ChangeBranch();
  {
    auto branch = Branch();
    Get(branch->WriteFile("temporary", "new"));
    Get(branch->Rename("temporary", "replaced"));
    Get(branch->WriteFile("vanishes", "branch"));
    Get(branch->WriteFile("appears", "branch"));
  }
  EXPECT_THAT(Conflicts(), IsEmpty());
  NextTick();
  BaseFile("edited", "by the person");
  BaseFile("replaced", "by the person");
  BaseFile("deleted", "by the person");
  BaseFile("removed/inner/x", "by the person");
  BaseFile("appears", "by the person");
  ::unlink(base("vanishes").c_str());
  EXPECT_THAT(Conflicts(), ElementsAre("/appears", "/deleted", "/edited", "/removed/inner/x",
                                       "/replaced", "/vanishes"));
  ApplyAll(OnConflict::kOverwrite);
  EXPECT_EQ(ReadBase("edited"), "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
  EXPECT_FALSE(fs::exists(base("deleted")));
  EXPECT_EQ(ReadBase("vanishes"), "branch");
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ApplyTest, WhatTheBranchHasSeenIsNoConflict) {
  MakeBase();
  OpenOverBase(Backing::kSqlite);
  BaseFile("deleted", "changed before the branch looked");
  NextTick();
  ChangeBranch();
  EXPECT_THAT(Conflicts(), IsEmpty());
}

// As a compiler or git does it that works on while its files are applied.
TEST_F(ApplyTest, WhatWasAppliedWhileTheBranchChangedIsNoConflict) {
  MakeBase();
  OpenOverBase(Backing::kSqlite);
  {
    auto branch = Branch();
    Get(branch->WriteFile("saved.tmp", "new"));
    Get(branch->WriteFile("lock", ""));
    Get(branch->WriteFile("edited", "first\n"));
    Get(branch->Chmod("mode", 0755));
    Get(branch->Unlink("deleted"));
    Get(branch->MakeDirectory("out"));
    Get(branch->WriteFile("out/object", "1"));
  }
  Applier applier = Open();
  const ApplyPlan plan = PlanAll(applier);
  {
    auto branch = Branch();
    Get(branch->Rename("saved.tmp", "dir/a"));
    Get(branch->Unlink("lock"));
    Get(branch->WriteFile("lock", "another"));
    Get(branch->Unlink("edited"));
    Get(branch->WriteFile("mode", "changed"));
    Get(branch->WriteFile("deleted", "back again"));
    Get(branch->Unlink("out/object"));
    Get(branch->RemoveDirectory("out"));
    Get(branch->MakeDirectory("out"));
    Get(branch->WriteFile("out/other", "2"));
  }
  const Tree shown = DumpView(*Branch());
  Get(applier.Apply(plan, "main", Applier::Extent::kWhole));
  EXPECT_EQ(DumpView(*Branch()), shown);
  ApplyAll();
  EXPECT_EQ(DumpView(*Branch()), shown);
  EXPECT_EQ(DumpView(*Snapshot("base")), shown);
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ApplyTest, MergesTextThatBothHaveChanged) {
  MakeBase();
  BaseFile("saved", "1\n2\n3\n4\n5\n");
  BaseFile("overlaps", "1\n2\n");
  OpenOverBase(Backing::kSqlite);
  {
    auto branch = Branch();
    Get(branch->WriteFile("edited", "one\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    Get(branch->WriteFile("temporary", "one\n2\n3\n4\n5\n"));
    Get(branch->Rename("temporary", "saved"));
    Get(branch->WriteFile("overlaps", "eins\n2\n"));
  }
  NextTick();
  BaseFile("edited", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
  BaseFile("saved", "1\n2\n3\n4\nfive\n");
  BaseFile("overlaps", "uno\n2\n");
  EXPECT_THAT(Conflicts(), ElementsAre("/edited", "/overlaps", "/saved"));
  Applier applier = Open();
  const ApplyPlan all = PlanAll(applier, OnConflict::kMerge);
  EXPECT_THAT(Paths(all.conflicts), ElementsAre("/overlaps"));
  ApplyAll(OnConflict::kMerge, {"/edited", "/saved"});
  EXPECT_EQ(ReadBase("edited"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
  EXPECT_EQ(ReadBase("saved"), "one\n2\n3\n4\nfive\n");
  EXPECT_EQ(Get(Branch()->ReadFile("edited")), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
  EXPECT_THAT(Differences(), ElementsAre("/overlaps"));
}

TEST_F(ApplyTest, UndoSeesWhatWasChangedAfterTheApply) {
  MakeBase();
  OpenOverBase(Backing::kSqlite);
  ChangeBranch();
  ApplyAll();
  NextTick();
  BaseFile("edited", "by the person");
  BaseFile("deleted", "by the person");
  EXPECT_THAT(Get(Open().ChangedSinceLast()), testing::UnorderedElementsAre("/edited", "/deleted"));
}

TEST_F(ApplyTest, NeverLeavesTheBaseThroughALink) {
  BaseDirectory("d");
  BaseFile("d/f", "base");
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->WriteFile("d/f", "from the branch"));
  const std::string outside = state() + "/outside";
  fs::create_directories(outside);
  std::ofstream(outside + "/f") << "precious";
  fs::remove_all(base("d"));
  fs::create_directory_symlink(outside, base("d"));
  const Tree before = Dump(outside);
  EXPECT_THAT(Conflicts(), testing::Not(IsEmpty()));
  ApplyAll(OnConflict::kOverwrite);
  EXPECT_EQ(Dump(outside), before);
  EXPECT_EQ(ReadBase("d/f"), "from the branch");
}

TEST_F(ApplyTest, ALinkThatAppearsWhileItWritesIsRefused) {
  BaseDirectory("d");
  BaseFile("d/f", "base");
  BaseFile("e", "base");
  OpenOverBase(Backing::kSqlite);
  {
    auto branch = Branch();
    Get(branch->WriteFile("d/f", "from the branch"));
    Get(branch->WriteFile("e", "from the branch"));
  }
  const std::string outside = state() + "/outside";
  fs::create_directories(outside);
  std::ofstream(outside + "/f") << "precious";
  Applier applier = Open();
  const ApplyPlan plan = PlanAll(applier);
  bool swapped = false;
  applier.SetHook([&](size_t, size_t) {
    if (std::exchange(swapped, true)) return;
    fs::rename(base("d"), base("was d"));
    fs::create_directory_symlink(outside, base("d"));
  });
  EXPECT_EQ(applier.Apply(plan, "main", Applier::Extent::kWhole).code(), ELOOP);
  EXPECT_EQ(Dump(outside).size(), 2u);
  EXPECT_THAT(Dump(outside)["f"], HasSubstr("precious"));
  EXPECT_EQ(ReadBase("e"), "base");
}

TEST_F(ApplyTest, ATextThatWasOnlyTouchedIsNoConflict) {
  BaseFile("a", "1\n");
  BaseFile("b", std::string("1\0", 2));
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->WriteFile("a", "2\n"));
  Get(Branch()->WriteFile("b", "2\n"));
  for (const char* name : {"a", "b"}) {
    fs::last_write_time(base(name), fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  EXPECT_THAT(Conflicts(), ElementsAre("/b")) << "of what is no text nothing is kept to compare";
}

// The base loses the one file and keeps the other, which differs in nothing.
TEST_F(ApplyTest, AFileThatHasReplacedOneThatSaysTheSameIsTheBasesAfterwards) {
  BaseFile("first", "the same");
  BaseFile("second", "the same");
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->Rename("first", "second"));
  ApplyAll();
  EXPECT_FALSE(fs::exists(base("first")));
  Get(Branch()->Rename("second", "third"));
  EXPECT_THAT(Conflicts(), IsEmpty());
  ApplyAll();
  EXPECT_EQ(ReadBase("third"), "the same");
  EXPECT_FALSE(fs::exists(base("second")));
  EXPECT_THAT(Differences(), IsEmpty());
  ExpectClean();
}

// `git status` writes what it has learnt of files' times into the index.
TEST_F(ApplyTest, AGitIndexThatWasOnlyRefreshedIsNoConflict) {
  auto git = [&](const std::string& text) {
    const std::string command = "cd '" + layout_.base + "' && git -c user.name=n -c user.email=e " +
                                text + " > /dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  };
  BaseFile("a", "1");
  git("init");
  git("add a");
  const std::string staged = ReadBase(".git/index");
  git("commit -m first");
  OpenOverBase(Backing::kSqlite);
  {
    auto branch = Branch();
    Get(branch->WriteFile(".git/index.lock", staged));
    Get(branch->Rename(".git/index.lock", ".git/index"));
  }
  const std::string seen = ReadBase(".git/index");
  NextTick();
  fs::last_write_time(base("a"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  git("status");
  EXPECT_NE(ReadBase(".git/index"), seen);
  EXPECT_THAT(Conflicts(), IsEmpty());
  BaseFile("b", "2");
  git("add b");
  EXPECT_THAT(Conflicts(), ElementsAre("/.git/index"));
  git("rm --cached b");
  const std::string before = ReadBase(".git/index");
  ApplyAll();
  EXPECT_EQ(ReadBase(".git/index"), staged);

  // Neither is it one for taking it back.
  fs::last_write_time(base("a"), fs::file_time_type::clock::now() - std::chrono::hours(2));
  git("status");
  EXPECT_NE(ReadBase(".git/index"), staged);
  EXPECT_THAT(Get(Open().ChangedSinceLast()), IsEmpty());
  Get(Open().UndoLast());
  EXPECT_EQ(ReadBase(".git/index"), before);
}

TEST_F(ApplyTest, ANewFileThatWasWrittenAgainAsItWasIsTakenBack) {
  BaseDirectory("d");
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->MakeDirectory("d/new"));
  for (const char* name : {"d/new/a", "d/new/b"}) Get(Branch()->WriteFile(name, "1\n"));
  const Tree before = Dump(layout_.base);
  ApplyAll();
  fs::remove(base("d/new/a"));
  BaseFile("d/new/a", "1\n");
  EXPECT_THAT(Get(Open().ChangedSinceLast()), IsEmpty());
  BaseFile("d/new/b", "2\n");
  EXPECT_THAT(Get(Open().ChangedSinceLast()), ElementsAre("/d/new/b"));
  BaseFile("d/new/b", "1\n");
  Get(Open().UndoLast());
  EXPECT_EQ(Dump(layout_.base), before);
}

// Of what the branch has moved it may know no more than where the base has it.
TEST_F(ApplyTest, WhatWasMovedIsAppliedAsAWhole) {
  for (const std::string each : {"from", "from/sub", "to"}) BaseDirectory(each);
  BaseFile("from/file", "1");
  BaseFile("from/sub/deep", "2");
  BaseFile("single", "3");
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->Rename("from", "to/moved"));
  Get(Branch()->Rename("single", "to/single"));
  const Tree before = Dump(layout_.base), shown = DumpView(*Branch());
  const auto refused = [&](std::vector<std::string> paths) {
    Applier applier = Open();
    // Nothing to overwrite: force is no way out.
    const ApplyPlan plan = PlanAll(applier, OnConflict::kOverwrite, std::move(paths));
    std::vector<std::string> reasons;
    for (const ApplyConflict& conflict : plan.conflicts) reasons.push_back(conflict.reason());
    return reasons;
  };
  const std::string moved = "the branch has /from as /to/moved: apply both, or neither";
  EXPECT_THAT(refused({"/from"}), ElementsAre(moved));
  EXPECT_THAT(refused({"/from/file"}), ElementsAre(moved));
  EXPECT_THAT(refused({"/to/moved/sub"}), ElementsAre(moved));
  EXPECT_THAT(refused({"/to/moved"}), ElementsAre(moved));
  EXPECT_THAT(refused({"/single"}),
              ElementsAre("the branch has /single as /to/single: apply both, or neither"));
  EXPECT_EQ(Dump(layout_.base), before);
  const ApplyConflict strange{ApplyConflict::Kind::kMoved, "/a", "/a", "/b\nc"};
  EXPECT_EQ(strange.reason(), "the branch has /a as \"/b\\nc\": apply both, or neither");

  // A file can be copied, since older layers keep its original.
  ApplyAll(OnConflict::kRefuse, {"/to/single"});
  EXPECT_EQ(ReadBase("to/single"), "3");
  EXPECT_THAT(Differences(), testing::Contains("/single"));
  ApplyAll(OnConflict::kRefuse, {"/single"});
  ApplyAll(OnConflict::kRefuse, {"/from", "/to/moved"});
  EXPECT_EQ(ReadBase("to/moved/sub/deep"), "2");
  EXPECT_THAT(Differences(), IsEmpty());
  EXPECT_EQ(DumpView(*Branch()), shown);
  ExpectClean();
}

TEST_F(ApplyTest, WhatIsDiscardedOfAMoveIsAFileOfItsOwn) {
  BaseDirectory("from");
  BaseFile("from/file", "1");
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->Rename("from", "moved"));
  Get(RestorePaths(volume(), "main", "base", {"/from"}, {}));
  EXPECT_EQ(Get(Branch()->ReadFile("from/file")), "1");
  Get(Branch()->WriteFile("from/file", "2"));
  EXPECT_EQ(Get(Branch()->ReadFile("moved/file")), "1");
  ApplyAll();
  EXPECT_EQ(ReadBase("from/file"), "2");
  EXPECT_EQ(ReadBase("moved/file"), "1");
  EXPECT_THAT(Differences(), IsEmpty());
  ExpectClean();
}

// Also while the store does not say so yet.
class DiscardTest : public ApplyTest, public testing::WithParamInterface<bool> {};

TEST_P(DiscardTest, WhatIsDiscardedIsTheBasesAtOnce) {
  BaseFile("file", "of the base");
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->WriteFile("file", "other"));
  Flush();
  if (GetParam()) Get(volume().CreateSnapshot("main", "", "", Durability::kNone));
  Get(RestorePaths(volume(), "main", "base", {"/file"}, {}));
  EXPECT_EQ(Get(Branch()->ReadFile("file")), "of the base");
  EXPECT_THAT(Differences(), IsEmpty());
  BaseFile("file", "edited by the person");
  EXPECT_EQ(Get(Branch()->ReadFile("file")), "edited by the person");
  Get(Branch()->WriteFile("file", "again"));
  EXPECT_THAT(Differences(), ElementsAre("/file"));
  ExpectClean();
}

INSTANTIATE_TEST_SUITE_P(Snapshot, DiscardTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "taken" : "none"; });

}  // namespace
}  // namespace agentfs
