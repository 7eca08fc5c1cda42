// SPDX-License-Identifier: Apache-2.0
//
// What older layers have of files that an apply replaces.
#include "apply_rig.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// With the parameter all content is in the database.
class KeptTest : public ApplyTest, public testing::WithParamInterface<bool> {
 protected:
  void MakeLarge() {
    options_.single_file = GetParam();
    BaseFile("large", old_);
    BaseFile("linked", old_);
    fs::create_hard_link(base("linked"), base("linked too"));
    BaseFile("removed", old_);
    BaseFile("attributes", "as it was");
    OpenOverBase(Backing::kSqlite);
  }
  void WriteInto(const std::string& path, uint64_t at, std::string_view text) {
    auto branch = Branch();
    Get(Get(branch->Open(path, O_RDWR))->Write(at, text));
  }
  void TakeSnapshot(const std::string& name, const std::string& branch = "main") {
    Get(volume().CreateSnapshot(branch, name, "", Durability::kNone));
  }
  std::string With(std::string_view text) const {
    return std::string(text) + old_.substr(text.size());
  }
  size_t Kept() {
    return fs::exists(layout_.kept)
               ? std::distance(fs::directory_iterator(layout_.kept), fs::directory_iterator())
               : 0;
  }

  const std::string old_ = std::string(400'000, 'o');
};

TEST_P(KeptTest, WhatWasChangedInPartSinceAnApplyOutlivesItsUndo) {
  MakeLarge();
  WriteInto("large", 0, "first");
  Get(Branch()->WriteFile("new", old_));
  ApplyAll();
  const std::vector<std::string> paths = {"large", "new"};
  std::map<std::string, std::string> wanted;
  for (const std::string& path : paths) {
    WriteInto(path, 200'000, "second");
    wanted[path] = Get(Branch()->ReadFile(path));
  }
  Get(Open().UndoLast());
  EXPECT_TRUE(ReadBase("large") == old_);
  Reopen();
  for (const std::string& path : paths) {
    EXPECT_TRUE(Get(Branch()->ReadFile(path)) == wanted[path]) << path;
  }
  ApplyAll(OnConflict::kOverwrite);
  for (const std::string& path : paths) EXPECT_TRUE(ReadBase(path) == wanted[path]) << path;
  ExpectClean();
}

TEST_P(KeptTest, SnapshotsStayWhatTheyWere) {
  MakeLarge();
  for (const char* path : {"large", "linked", "removed"}) WriteInto(path, 0, "first");
  Get(Branch()->Chmod("attributes", 0600));
  TakeSnapshot("first");
  Get(volume().CreateBranch("other", "first"));
  for (const char* path : {"large", "linked"}) WriteInto(path, 0, "second");
  Get(Branch()->WriteFile("attributes", "other"));
  Get(Branch()->Unlink("removed"));
  TakeSnapshot("second");
  ApplyAll();
  EXPECT_EQ(ReadBase("linked too"), With("second"));
  auto expect = [&] {
    auto first = Snapshot("first"), second = Snapshot("second");
    for (const char* path : {"large", "linked", "removed"}) {
      EXPECT_TRUE(Get(first->ReadFile(path)) == With("first")) << path;
      EXPECT_TRUE(Get(Branch("other")->ReadFile(path)) == With("first")) << path;
    }
    EXPECT_TRUE(Get(second->ReadFile("large")) == With("second"));
    EXPECT_TRUE(Get(second->ReadFile("linked")) == With("second"));
    EXPECT_EQ(Get(first->ReadFile("attributes")), "as it was");
  };
  expect();
  Reopen();
  expect();
  Get(volume().CollectGarbage());
  expect();
  EXPECT_EQ(Kept(), 4u);

  Get(Open().UndoLast());
  EXPECT_EQ(fs::hard_link_count(base("large")), 1u);
  EXPECT_TRUE(ReadBase("removed") == old_);
  expect();
  ExpectClean();
}

TEST_P(KeptTest, SnapshotsFindWhatTheApplyHasMoved) {
  options_.single_file = GetParam();
  BaseDirectory("old");
  BaseDirectory("old/sub");
  BaseFile("old/sub/deep", "deep");
  BaseFile("old/plain", "plain");
  BaseFile("old/mode", "mode");
  BaseFile("single", "single");
  OpenOverBase(Backing::kSqlite);
  {
    auto branch = Branch();
    Get(branch->Rename("old", "new"));
    Get(branch->Chmod("new/mode", 0600));
    Get(branch->Rename("single", "new/single"));
  }
  TakeSnapshot("moved");
  const Tree before = Dump(layout_.base);
  auto expect = [&] {
    auto moved = Snapshot("moved");
    for (const char* path : {"sub/deep", "plain", "mode", "single"}) {
      EXPECT_EQ(Get(moved->ReadFile("new/" + std::string(path))),
                std::string(path).substr(std::string(path).rfind('/') + 1));
    }
  };
  expect();
  ApplyAll();
  expect();
  Reopen();
  expect();
  // It can be gone back to, and is what the base has.
  Get(volume().Restore("main", "moved"));
  EXPECT_THAT(Differences(), IsEmpty());
  Get(Open().UndoLast());
  EXPECT_EQ(Dump(layout_.base), before);
  expect();
  ExpectClean();
}

// Taken back, the directory is another one in the base than the branch has renamed.
TEST_P(KeptTest, ARenamedDirectoryIsAppliedAgainAfterItWasTakenBack) {
  BaseDirectory("d");
  BaseDirectory("d/e");
  BaseFile("d/e/f", "1");
  options_.single_file = GetParam();
  OpenOverBase(Backing::kSqlite);
  {
    auto branch = Branch();
    Get(branch->Rename("d", "g"));
    Get(branch->WriteFile("g/e/new", "2"));
  }
  TakeSnapshot("renamed");
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    ApplyAll();
    EXPECT_THAT(Differences(), IsEmpty());
    for (const bool snapshot : {false, true}) {
      const auto view = snapshot ? Snapshot("renamed") : Branch();
      EXPECT_EQ(Get(view->ReadFile("g/e/f")), "1");
      EXPECT_EQ(Get(view->ReadFile("g/e/new")), "2");
    }
    if (round == 0) Get(Open().UndoLast());
    EXPECT_EQ(Get(Branch()->ReadFile("g/e/f")), "1");
    Reopen();
    EXPECT_EQ(Get(Branch()->ReadFile("g/e/f")), "1");
  }
  ExpectClean();
}

TEST_P(KeptTest, SnapshotsFindADirectoryThatTheBranchHadMadeAndMoved) {
  options_.single_file = GetParam();
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->MakeDirectory("d"));
  Get(Branch()->MakeDirectory("d/e"));
  Get(Branch()->WriteFile("d/e/f", "1"));
  ApplyAll();
  Get(Branch()->Rename("d", "g"));
  TakeSnapshot("moved");
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    ApplyAll();
    EXPECT_EQ(ReadBase("g/e/f"), "1");
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(Get(Snapshot("moved")->ReadFile("g/e/f")), "1");
    Reopen();
    EXPECT_EQ(Get(Snapshot("moved")->ReadFile("g/e/f")), "1");
    if (round == 0) Get(Open().UndoLast());
    EXPECT_EQ(Get(Snapshot("moved")->ReadFile("g/e/f")), "1");
    EXPECT_EQ(Get(Branch()->ReadFile("g/e/f")), "1");
  }
  ExpectClean();
}

// In the base the two directories stay where they are, and what is in them changes places.
TEST_P(KeptTest, SnapshotsShowDirectoriesThatChangedPlacesAsTheyDid) {
  options_.single_file = GetParam();
  for (const std::string each : {"a", "b"}) {
    BaseDirectory(each);
    BaseFile(each + "/same", "of " + each);
    BaseFile(each + "/only in " + each, each);
    BaseDirectory(each + "/sub");
    BaseDirectory(each + "/sub/inner");
    BaseFile(each + "/sub/inner/deep", "deep of " + each);
  }
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->WriteFile("a/new", "new in a"));
  Get(Branch()->Chmod("b/sub/inner", 0700));
  TakeSnapshot("before");
  const Tree before = DumpView(*Snapshot("before"));
  Swap(*Branch(), "a", "b");
  TakeSnapshot("swapped");
  const Tree swapped = DumpView(*Snapshot("swapped"));
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    ApplyAll();
    EXPECT_THAT(Differences(), IsEmpty());
    for (const bool reopened : {false, true}) {
      if (reopened) Reopen();
      EXPECT_EQ(DumpView(*Snapshot("before")), before);
      EXPECT_EQ(DumpView(*Snapshot("swapped")), swapped);
      EXPECT_EQ(DumpView(*Branch()), swapped);
    }
    if (round == 0) Get(Open().UndoLast());
    EXPECT_EQ(DumpView(*Snapshot("before")), before);
    EXPECT_EQ(DumpView(*Snapshot("swapped")), swapped);
    EXPECT_EQ(DumpView(*Branch()), swapped);
  }
  ExpectClean();
}

// In one of them the branch has changed it; in the other nothing has to be written.
TEST_P(KeptTest, SnapshotsShowFilesThatWereTheSameInDirectoriesThatChangedPlaces) {
  options_.single_file = GetParam();
  for (const std::string each : {"a", "b"}) {
    BaseDirectory(each);
    BaseFile(each + "/content", "in both");
    BaseFile(each + "/mode", "in both");
  }
  OpenOverBase(Backing::kSqlite);
  Swap(*Branch(), "a", "b");
  Get(Branch()->WriteFile("a/content", "only here"));
  Get(Branch()->Chmod("a/mode", 0700));
  TakeSnapshot("swapped");
  const Tree shown = DumpView(*Snapshot("swapped"));
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    ApplyAll();
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(DumpView(*Snapshot("swapped")), shown);
    Reopen();
    EXPECT_EQ(DumpView(*Snapshot("swapped")), shown);
    ExpectClean();
    if (round == 0) Get(Open().UndoLast());
    EXPECT_EQ(DumpView(*Snapshot("swapped")), shown);
    EXPECT_EQ(DumpView(*Branch()), shown);
  }
  ExpectClean();
}

// The same of directories that the branch had made; and back again.
TEST_P(KeptTest, SnapshotsShowDirectoriesOfTheBranchThatChangedPlacesAsTheyDid) {
  options_.single_file = GetParam();
  OpenOverBase(Backing::kSqlite);
  for (const std::string each : {"a", "b"}) {
    Get(Branch()->MakeDirectory(each));
    Get(Branch()->MakeDirectory(each + "/sub"));
    Get(Branch()->WriteFile(each + "/sub/file", "of " + each));
  }
  ApplyAll();
  Get(Branch()->Chmod("a/sub", 0700));
  std::map<std::string, Tree> shown;
  for (const std::string name : {"once", "twice", "thrice"}) {
    Swap(*Branch(), "a", "b");
    TakeSnapshot(name);
    shown[name] = DumpView(*Snapshot(name));
    ApplyAll();
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(DumpView(*Branch()), shown[name]);
    for (const auto& [taken, tree] : shown) EXPECT_EQ(DumpView(*Snapshot(taken)), tree) << taken;
    Reopen();
    for (const auto& [taken, tree] : shown) EXPECT_EQ(DumpView(*Snapshot(taken)), tree) << taken;
  }
  ExpectClean();
}

// Another directory has come where it was; and where it is, a file was.
TEST_P(KeptTest, SnapshotsFindADirectoryThatWasReplacedAndHasReplaced) {
  options_.single_file = GetParam();
  BaseDirectory("d");
  BaseDirectory("d/sub");
  BaseFile("d/sub/file", "old");
  BaseFile("d/same", "same");
  BaseFile("moved", "a file");
  OpenOverBase(Backing::kSqlite);
  Get(Branch()->Unlink("moved"));
  Get(Branch()->Rename("d", "moved"));
  Get(Branch()->MakeDirectory("d"));
  Get(Branch()->WriteFile("d/same", "same"));
  Get(Branch()->WriteFile("d/new", "new"));
  TakeSnapshot("moved");
  const Tree shown = DumpView(*Snapshot("moved"));
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    ApplyAll();
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(DumpView(*Snapshot("moved")), shown);
    Reopen();
    EXPECT_EQ(DumpView(*Snapshot("moved")), shown);
    if (round == 0) Get(Open().UndoLast());
    EXPECT_EQ(DumpView(*Snapshot("moved")), shown);
    EXPECT_EQ(DumpView(*Branch()), shown);
  }
  ExpectClean();
}

TEST_P(KeptTest, WhatNobodyNeedsIsNotKept) {
  MakeLarge();
  WriteInto("large", 0, "first");
  Get(Branch()->Unlink("removed"));
  Get(Branch()->WriteFile("attributes", "other"));
  ApplyAll();
  EXPECT_EQ(Kept(), 1u);
  for (const SnapshotInfo& each : volume().ListSnapshots()) {
    Get(volume().DeleteSnapshot(each.name));
  }
  Reopen();  // layers are merged where no view writes to them
  Get(volume().CollectGarbage());
  EXPECT_EQ(Kept(), 0u);
  EXPECT_TRUE(Get(Branch()->ReadFile("large")) == With("first"));
}

TEST_P(KeptTest, AFileThatIsOpenStaysReadableAndWritable) {
  MakeLarge();
  auto branch = Branch();
  auto file = Get(branch->Open("large", O_RDWR));
  Get(file->Write(0, "first"));
  ApplyAll();
  EXPECT_TRUE(Get(file->Read(0, old_.size())) == With("first"));
  Get(file->Write(0, "again"));
  EXPECT_TRUE(Get(file->Read(0, old_.size())) == With("again"));
  EXPECT_TRUE(Get(branch->ReadFile("large")) == With("again"));
  EXPECT_THAT(Differences(), ElementsAre("/large"));
  EXPECT_THAT(Conflicts(), IsEmpty());
  file.reset();
  ApplyAll();
  EXPECT_TRUE(ReadBase("large") == With("again"));
  EXPECT_THAT(Differences(), IsEmpty());
  ExpectClean();
}

TEST_P(KeptTest, WhoWritesToWhatIsKeptIsNoticed) {
  MakeLarge();
  const int writer = ::open(base("large").c_str(), O_WRONLY | O_CLOEXEC);
  WriteInto("large", 0, "first");
  TakeSnapshot("first");
  ApplyAll();
  NextTick();
  EXPECT_EQ(::pwrite(writer, "x", 1, 9000), 1);
  ::close(writer);
  EXPECT_EQ(Snapshot("first")->ReadFile("large").code(), EIO);
}

INSTANTIATE_TEST_SUITE_P(Homes, KeptTest, testing::Bool());

}  // namespace
}  // namespace agentfs
