// SPDX-License-Identifier: Apache-2.0
//
// Applying: what is written, and taken back.
#include "apply_rig.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(ApplyTest, TheBaseIsTheBranchAfterwardsAndUndoGivesItBack) {
  MakeBase();
  OpenOverBase(Backing::kSqlite);
  const Tree before = Dump(layout_.base);
  ChangeBranch();
  ApplyAll();
  EXPECT_EQ(ReadBase("edited"), "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
  EXPECT_FALSE(fs::exists(base("deleted")));
  EXPECT_FALSE(fs::exists(base("renamed")));
  EXPECT_EQ(ReadBase("dir/renamed to"), "moves");
  EXPECT_EQ(fs::status(base("mode")).permissions(), static_cast<fs::perms>(0755));
  EXPECT_EQ(fs::read_symlink(base("becomes a link")), "dir/a");
  EXPECT_FALSE(fs::exists(base("removed")));
  EXPECT_EQ(ReadBase("becomes a file"), "now");
  EXPECT_EQ(ReadBase("linked too"), "two names, changed");
  EXPECT_EQ(ReadBase("dir/a"), "saved");
  EXPECT_TRUE(fs::is_empty(base("new/empty")));
  EXPECT_EQ(fs::hard_link_count(base("new/second name")), 2u);
  const std::string made = Dump(layout_.base)["new/file"];
  EXPECT_THAT(made, HasSubstr("2000.9 fresh"));
  EXPECT_THAT(made, HasSubstr("xattr v"));
  EXPECT_THAT(Differences(), IsEmpty());
  ExpectClean();

  Applier applier = Open();
  EXPECT_THAT(Get(applier.ChangedSinceLast()), IsEmpty());
  Get(applier.UndoLast());
  EXPECT_EQ(Dump(layout_.base), before);
  EXPECT_FALSE(Get(applier.Last()).has_value());
  // The branch has its changes again, and they can be applied again.
  EXPECT_EQ(Get(Branch()->ReadFile("dir/a")), "saved");
  EXPECT_THAT(Conflicts(), IsEmpty());
  ApplyAll();
  EXPECT_EQ(ReadBase("dir/a"), "saved");
  EXPECT_THAT(Differences(), IsEmpty());
  ExpectClean();
}

TEST_F(ApplyTest, AfterwardsTheBranchFollowsTheBase) {
  MakeBase();
  OpenOverBase(Backing::kSqlite);
  ChangeBranch();
  ApplyAll();
  BaseFile("edited", "by the person");
  BaseFile("deleted", "again");
  BaseFile("new/other", "more");
  auto branch = Branch();
  EXPECT_EQ(Get(branch->ReadFile("edited")), "by the person");
  EXPECT_EQ(Get(branch->ReadFile("deleted")), "again");
  EXPECT_EQ(Get(branch->ReadFile("new/other")), "more");
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ApplyTest, OnlyThePathsThatWereAskedFor) {
  MakeBase();
  OpenOverBase(Backing::kSqlite);
  const Tree before = Dump(layout_.base);
  ChangeBranch();
  ApplyAll(OnConflict::kRefuse, {"/edited", "/new/file"});
  EXPECT_EQ(ReadBase("new/file"), "fresh");
  EXPECT_TRUE(fs::exists(base("deleted")));
  const auto left = Differences();
  EXPECT_THAT(left, testing::Not(testing::Contains("/edited")));
  EXPECT_THAT(left, testing::Not(testing::Contains("/new/file")));
  EXPECT_THAT(left, testing::Contains("/new/second name"));
  EXPECT_THAT(left, testing::Contains("/deleted"));
  ExpectClean();
  Get(Open().UndoLast());
  EXPECT_EQ(Dump(layout_.base), before);
  EXPECT_EQ(Get(Branch()->ReadFile("new/file")), "fresh");
  EXPECT_THAT(Differences(), testing::Contains("/edited"));
  ExpectClean();
}

TEST_F(ApplyTest, OpenFilesOfTheBranchGoOnWorking) {
  MakeBase();
  OpenOverBase(Backing::kSqlite);
  auto branch = Branch();
  Get(branch->WriteFile("log", "1\n"));
  auto log = Get(branch->Open("log", O_RDWR));
  ApplyAll();
  Get(log->Write(2, "2\n"));
  EXPECT_EQ(Get(branch->ReadFile("log")), "1\n2\n");
  EXPECT_EQ(ReadBase("log"), "1\n");
  EXPECT_THAT(Differences(), ElementsAre("/log"));
  EXPECT_THAT(Conflicts(), IsEmpty());
  log.reset();
  ApplyAll();
  EXPECT_EQ(ReadBase("log"), "1\n2\n");
}

TEST_F(ApplyTest, NamesOfOneFileAreAppliedAndTakenBack) {
  for (const char* name : {"a", "b", "c"}) BaseFile(name, "old");
  for (const char* name : {"a", "b", "c"}) {
    std::filesystem::create_hard_link(base(name), base(std::string(name) + "2"));
  }
  OpenOverBase(Backing::kSqlite);
  const Tree before = Dump(layout_.base);
  auto branch = Branch();
  Get(branch->WriteFile("a", "both"));
  Get(branch->Unlink("b"));
  Get(branch->WriteFile("b2", "the one that is left"));
  Get(branch->Rename("c", "d"));
  Get(branch->WriteFile("c2", "moved"));
  EXPECT_THAT(Differences(), ElementsAre("/a", "/a2", "/b", "/b2", "/c2", "/d"));
  ApplyAll();
  EXPECT_EQ(ReadBase("a2"), "both");
  EXPECT_EQ(ReadBase("b2"), "the one that is left");
  EXPECT_EQ(ReadBase("d"), "moved");
  EXPECT_EQ(ReadBase("c2"), "moved");
  EXPECT_THAT(Differences(), IsEmpty());
  const auto snapshots = volume().ListSnapshots();
  EXPECT_EQ(Get(Snapshot(snapshots.back().name)->ReadFile("b2")), "the one that is left");
  Get(Open().UndoLast());
  EXPECT_EQ(Dump(layout_.base), before);
  EXPECT_THAT(Differences(), ElementsAre("/a", "/a2", "/b", "/b2", "/c2", "/d"));
  ExpectClean();
}

TEST_F(ApplyTest, NewNamesOfFilesWithOtherAttributesAreLinks) {
  for (const char* name : {"mode", "moved", "two"}) BaseFile(name, "same");
  std::filesystem::create_hard_link(base("two"), base("two2"));
  OpenOverBase(Backing::kSqlite);
  const Tree before = Dump(layout_.base);
  auto branch = Branch();
  Get(branch->Chmod("mode", 0600));
  Get(branch->Link("mode", "added"));
  Get(branch->Chmod("moved", 0600));
  Get(branch->Link("moved", "one"));
  Get(branch->Rename("moved", "other"));
  Get(branch->Rename("two", "three"));
  Get(branch->WriteFile("two2", "written"));
  ApplyAll();
  EXPECT_TRUE(std::filesystem::equivalent(base("mode"), base("added")));
  EXPECT_TRUE(std::filesystem::equivalent(base("one"), base("other")));
  EXPECT_TRUE(std::filesystem::equivalent(base("two2"), base("three")));
  EXPECT_EQ(ReadBase("three"), "written");
  EXPECT_THAT(Differences(), IsEmpty());
  Get(Open().UndoLast());
  EXPECT_EQ(Dump(layout_.base), before);
  ExpectClean();
}

TEST_F(ApplyTest, PathsLongerThanTheKernelTakesAreApplied) {
  OpenOverBase(Backing::kSqlite);
  const Tree before = Dump(layout_.base);
  std::string path;
  for (int depth = 0; depth < 22; ++depth) {
    path += (depth == 0 ? "" : "/") + std::string(200, 'd');
    Get(Branch()->MakeDirectory(path));
  }
  Get(Branch()->WriteFile(path + "/new", "1"));
  ApplyAll();
  EXPECT_THAT(Differences(), IsEmpty());
  Get(Branch()->WriteFile(path + "/new", "2"));
  EXPECT_THAT(Differences(), ElementsAre("/" + path + "/new"));
  ApplyAll();
  Get(Open().UndoLast());
  EXPECT_THAT(Differences(), ElementsAre("/" + path + "/new"));
  ExpectClean();
}

TEST_F(ApplyTest, WhatIsChangedAndRemovedAfterItWasAppliedIsGone) {
  BaseDirectory("d");
  BaseFile("d/edited", "1");
  BaseFile("mode", "1");
  OpenOverBase(Backing::kSqlite);
  auto branch = Branch();
  Get(branch->WriteFile("d/edited", "2"));
  Get(branch->WriteFile("d/new", "2"));
  Get(branch->MakeDirectory("made"));
  Get(branch->WriteFile("made/new", "2"));
  Get(branch->Chmod("mode", 0600));
  ApplyAll();
  NextTick();
  Get(branch->Unlink("made/new"));
  Get(branch->RemoveDirectory("made"));
  Get(branch->SetXattr("mode", "user.k", "v"));
  Get(branch->Unlink("mode"));
  Get(branch->Unlink("d/edited"));
  Get(branch->Unlink("d/new"));
  Get(branch->RemoveDirectory("d"));
  EXPECT_THAT(Conflicts(), IsEmpty()) << "the base is as the branch has made it";
  ExpectClean();
  ApplyAll();
  EXPECT_THAT(std::filesystem::directory_iterator(layout_.base),
              std::filesystem::directory_iterator());
  ExpectClean();
}

TEST_F(ApplyTest, DirectoriesThatChangePlacesAreApplied) {
  for (const char* name : {"a", "b", "c", "c/d"}) BaseDirectory(name);
  BaseFile("a/x", "1");
  BaseFile("b/x", "2");
  BaseFile("c/d/x", "3");
  OpenOverBase(Backing::kSqlite);
  auto branch = Branch();
  Get(branch->Rename("a", "t"));
  Get(branch->Rename("b", "a"));
  Get(branch->Rename("t", "b"));
  Get(branch->Rename("c/d", "d"));
  Get(branch->Rename("c", "d/c"));
  Get(branch->Rename("d", "c"));
  for (const bool again : {false, true}) {
    SCOPED_TRACE(again);
    EXPECT_THAT(Conflicts(), IsEmpty());
    ApplyAll();
    EXPECT_EQ(ReadBase("a/x"), "2");
    EXPECT_EQ(ReadBase("c/x"), "3");
    EXPECT_TRUE(std::filesystem::is_directory(base("c/c")));
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(Get(branch->ReadFile("a/x")), "2");
    EXPECT_EQ(Get(branch->ReadFile("b/x")), "1");
    EXPECT_EQ(Get(branch->ReadFile("c/x")), "3");
    if (!again) Get(Open().UndoLast());
  }
  ExpectClean();
}

TEST_F(ApplyTest, AFileWhereSomethingElseIsNowCanBeTakenBack) {
  BaseFile("a", "1");
  OpenOverBase(Backing::kSqlite);
  auto branch = Branch();
  Get(branch->Unlink("a"));
  Get(branch->MakeDirectory("a"));
  ApplyAll();
  Applier applier = Open();
  EXPECT_THAT(Get(applier.ChangedSinceLast()), IsEmpty());
  Get(applier.UndoLast());
  EXPECT_EQ(ReadBase("a"), "1");
}

// Renamed and written, it is another file in the base; taken back, the base has the old one again,
// which the branch's is known by.
TEST_F(ApplyTest, UndoOfARenamedFileInUseGivesItOneName) {
  for (const bool partial : {true, false}) {
    SCOPED_TRACE(partial);
    BaseFile("a", "old");
    BaseFile("b", "b");
    OpenOverBase(Backing::kSqlite);
    const Tree before = Dump(layout_.base);
    auto branch = Branch();
    Get(branch->Rename("a", "c"));
    Get(branch->WriteFile("c", "new"));
    auto file = Get(branch->Open("c", O_RDWR));
    ApplyAll(OnConflict::kRefuse,
             partial ? std::vector<std::string>{"/a", "/c"} : std::vector<std::string>{});
    Get(Open().UndoLast());
    EXPECT_EQ(Dump(layout_.base), before);
    EXPECT_EQ(branch->Stat("a").code(), ENOENT);
    EXPECT_EQ(Get(branch->ReadFile("c")), "new");
    EXPECT_THAT(Differences(), ElementsAre("/a", "/c"));
    if (partial) {
      Get(file->Write(0, "N"));
      EXPECT_EQ(Get(branch->ReadFile("c")), "New");
    }
    file.reset();
    ApplyAll();
    EXPECT_EQ(ReadBase("c"), partial ? "New" : "new");
    EXPECT_FALSE(std::filesystem::exists(base("a")));
    ExpectClean();
    branch.reset();
    Close();
    std::filesystem::remove_all(state());
    std::filesystem::remove_all(base("c"));
    std::filesystem::create_directories(state());
  }
}

TEST_F(ApplyTest, FlagsWhatWouldActOnThePersonLater) {
  BaseDirectory("sub");
  OpenOverBase(Backing::kSqlite);
  auto branch = Branch();
  for (const char* directory : {".git", ".git/hooks", ".vscode"}) {
    Get(branch->MakeDirectory(directory));
  }
  Get(branch->WriteFile(".git/hooks/post-commit", "x"));
  Get(branch->WriteFile(".git/config", "[core]\n hooksPath = /evil\n"));
  Get(branch->WriteFile("sub/.envrc", "x"));
  Get(branch->WriteFile(".vscode/tasks.json", "x"));
  Get(branch->WriteFile("tool", "x", 0777));
  Get(branch->MakeSymlink("/etc/passwd", "out"));
  Get(branch->MakeSymlink("../../x", "sub/out"));
  Get(branch->MakeSymlink("../tool", "sub/in"));
  Get(branch->WriteFile("harmless", "x"));
  Applier applier = Open();
  std::vector<std::string> paths;
  for (const Risk& risk : Get(applier.Plan("main", {"main", {}, {}})).risks) {
    paths.push_back(risk.path);
  }
  EXPECT_THAT(paths, ElementsAre("/.git/config", "/.git/hooks/post-commit", "/.vscode/tasks.json",
                                 "/out", "/sub/.envrc", "/sub/out", "/tool"));
}

TEST_F(ApplyTest, FlagsWhatActsThroughOtherRepositories) {
  BaseDirectory("sub");
  OpenOverBase(Backing::kSqlite);
  auto branch = Branch();
  for (const char* directory :
       {".git", ".git/modules", ".git/modules/sub", ".git/worktrees", ".git/worktrees/w",
        "bare.git", "bare.git/hooks", "src", "src/hooks"}) {
    Get(branch->MakeDirectory(directory));
  }
  const std::string config = "[core]\n fsmonitor = evil\n";
  Get(branch->WriteFile(".git/modules/sub/config", config));
  Get(branch->WriteFile(".git/worktrees/w/config.worktree", config));
  Get(branch->WriteFile("bare.git/hooks/pre-push", "x"));
  Get(branch->WriteFile("src/hooks/state.ts", "x"));
  Get(branch->WriteFile("src/config", config));
  Get(branch->WriteFile("sub/.git", "gitdir: ../src\n"));
  Applier applier = Open();
  std::vector<std::string> paths;
  for (const Risk& risk : Get(applier.Plan("main", {"main", {}, {}})).risks) {
    paths.push_back(risk.path);
  }
  EXPECT_THAT(paths, ElementsAre("/.git/modules/sub/config", "/.git/worktrees/w/config.worktree",
                                 "/bare.git/hooks/pre-push", "/sub/.git"));
}

TEST_F(ApplyTest, ASparseFileStaysSparse) {
  OpenOverBase(Backing::kSqlite);
  {
    auto branch = Branch();
    auto file = Get(branch->Open("huge", O_CREAT | O_RDWR));
    Get(file->Truncate(uint64_t{4} << 30));
    Get(file->Write((uint64_t{4} << 30) - 3, "end"));
  }
  ApplyAll();
  struct stat st;
  ASSERT_EQ(::stat(base("huge").c_str(), &st), 0);
  EXPECT_EQ(st.st_size, off_t{4} << 30);
  EXPECT_LT(st.st_blocks, 4096);
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ApplyTest, TheJournalIsReadBack) {
  ApplyRecord record;
  record.branch = "main";
  record.settle = {"/a\nb", std::string("/\xff:3", 4)};
  record.steps.resize(2);
  record.steps[1].kind = ApplyStep::Kind::kMove;
  record.steps[1].other = "12:x";
  record.steps[1].after.xattrs["user.k"] = std::string("\0v", 2);
  const std::string text = EncodeRecord(record);
  const ApplyRecord read = Get(DecodeRecord(text));
  EXPECT_EQ(read.settle, record.settle);
  EXPECT_EQ(read.steps[1].other, "12:x");
  EXPECT_EQ(read.steps[1].after.xattrs, record.steps[1].after.xattrs);
  for (size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_EQ(DecodeRecord(text.substr(0, cut)).code(), EBADMSG) << cut;
  }
}

}  // namespace
}  // namespace agentfs
