// SPDX-License-Identifier: Apache-2.0
#include "workspace/apply.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "core_rig.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// All that there is to know of a tree of the host, but for inode numbers and ctimes.
using Tree = std::map<std::string, std::string>;

Tree Dump(const std::string& root) {
  Tree tree;
  auto add = [&](const fs::path& path) {
    struct stat st;
    ASSERT_EQ(::lstat(path.c_str(), &st), 0);
    std::string text = std::to_string(st.st_mode) + " " + std::to_string(st.st_nlink) + " " +
                       std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec);
    if (S_ISREG(st.st_mode)) {
      std::ifstream in(path, std::ios::binary);
      text += " " + std::string(std::istreambuf_iterator<char>(in), {});
      char value[100];
      const ssize_t size = ::lgetxattr(path.c_str(), "user.k", value, sizeof(value));
      if (size >= 0) text += " xattr " + std::string(value, static_cast<size_t>(size));
    } else if (S_ISLNK(st.st_mode)) {
      text += " " + fs::read_symlink(path).string();
    }
    tree[path.lexically_relative(root)] = text;
  };
  add(root);
  for (const auto& entry : fs::recursive_directory_iterator(root)) add(entry.path());
  return tree;
}

class ApplyTest : public CoreTest {
 protected:
  void SetUp() override {
    layout_.base = base("");
    layout_.base.pop_back();
    layout_.database = state() + "/state.db";
    layout_.kept = options_.kept_directory = state() + "/kept";
    fs::create_directories(state());
  }

  void MakeBase() {
    BaseFile("edited", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    BaseFile("deleted", "gone");
    BaseFile("renamed", "moves");
    BaseFile("mode", "script");
    BaseFile("becomes a link", "file");
    BaseDirectory("dir");
    BaseFile("dir/a", "a");
    BaseFile("dir/b", "b");
    BaseDirectory("removed");
    BaseDirectory("removed/inner");
    BaseFile("removed/inner/x", "x");
    BaseDirectory("becomes a file");
    BaseFile("becomes a file/y", "y");
    BaseFile("linked", "two names");
    fs::create_hard_link(base("linked"), base("linked too"));
    fs::create_symlink("edited", base("link"));
  }

  void ChangeBranch() {
    auto branch = Branch();
    Get(branch->WriteFile("edited", "one\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    Get(branch->Unlink("deleted"));
    Get(branch->Rename("renamed", "dir/renamed to"));
    Get(branch->Chmod("mode", 0755));
    Get(branch->Unlink("becomes a link"));
    Get(branch->MakeSymlink("dir/a", "becomes a link"));
    Get(branch->Unlink("removed/inner/x"));
    Get(branch->RemoveDirectory("removed/inner"));
    Get(branch->RemoveDirectory("removed"));
    Get(branch->Unlink("becomes a file/y"));
    Get(branch->RemoveDirectory("becomes a file"));
    Get(branch->WriteFile("becomes a file", "now"));
    Get(branch->WriteFile("linked", "two names, changed"));
    Get(branch->MakeDirectory("new"));
    Get(branch->MakeDirectory("new/empty"));
    Get(branch->WriteFile("new/file", "fresh"));
    Get(branch->SetXattr("new/file", "user.k", "v"));
    Get(branch->SetTimes("new/file", posix::TimeChange::Set(1000, 7),
                         posix::TimeChange::Set(2000, 9)));
    Get(branch->Link("new/file", "new/second name"));
    Get(branch->WriteFile("temporary", "saved"));
    Get(branch->Rename("temporary", "dir/a"));
    Get(branch->Unlink("link"));
    Get(branch->MakeSymlink("mode", "link"));
  }

  Applier Open() { return Get(Applier::Open(volume(), layout_)); }

  ApplyPlan PlanAll(Applier& applier, OnConflict on_conflict = OnConflict::kRefuse,
                    std::vector<std::string> paths = {}) {
    const auto snapshot =
        Get(volume().CreateSnapshot("main", "", "before apply", Durability::kNone));
    return Get(applier.Plan(snapshot.name, {"main", std::move(paths), on_conflict}));
  }
  void ApplyAll(OnConflict on_conflict = OnConflict::kRefuse, std::vector<std::string> paths = {}) {
    Applier applier = Open();
    const auto extent = paths.empty() ? Applier::Extent::kWhole : Applier::Extent::kPaths;
    const ApplyPlan plan = PlanAll(applier, on_conflict, std::move(paths));
    EXPECT_THAT(Paths(plan.conflicts), IsEmpty());
    Get(applier.Apply(plan, "main", extent));
  }
  static std::vector<std::string> Paths(const std::vector<ApplyConflict>& conflicts) {
    std::vector<std::string> paths;
    for (const ApplyConflict& conflict : conflicts) paths.push_back(conflict.path);
    return paths;
  }
  std::vector<std::string> Conflicts() {
    Applier applier = Open();
    return Paths(Get(applier.Plan("main", {"main", {}, OnConflict::kRefuse})).conflicts);
  }
  std::vector<std::string> Differences() {
    std::vector<std::string> paths;
    for (const PathChange& change : Get(FindChanges(volume(), "base", "main"))) {
      paths.push_back(change.path);
    }
    return paths;
  }
  std::string ReadBase(const std::string& path) {
    std::ifstream in(base(path), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  // Later than anything before, by the clock that filesystems stamp with.
  static void NextTick() { ::usleep(12'000); }

  Layout layout_;
};

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

// What older layers have of files that an apply replaces. With the parameter all content is in the
// database.
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

// ---- killed

class ApplyKillTest : public ApplyTest {
 protected:
  // A base and a branch with changes, as before the apply. Not copied: a base is known by its
  // inodes.
  void StartAgain() {
    fs::remove_all(layout_.base);
    fs::remove_all(state());
    fs::create_directories(layout_.base);
    fs::create_directories(state());
    MakeBase();
    OpenOverBase(Backing::kSqlite);
    ChangeBranch();
    differences_ = Differences().size();
    Close();
  }
  // Applies in a process of its own, which `end` may end at a step.
  pid_t Start(const ApplyHook& end) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    try {
      OpenOverBase(Backing::kSqlite);
      Applier applier = Open();
      applier.SetHook(end);
      const ApplyPlan plan = PlanAll(applier);
      const bool done = applier.Apply(plan, "main", Applier::Extent::kWhole).ok();
      ::_exit(done ? 0 : 1);
    } catch (const std::exception& error) {
      ::fprintf(stderr, "%s\n", error.what());
      ::_exit(2);
    }
  }
  // After a kill and the next command, all is applied or nothing.
  void ExpectAllOrNothing(const Tree& before, const Tree& after) {
    OpenOverBase(Backing::kSqlite);
    Get(Applier::Recover(volume(), layout_));
    const Tree now = Content(Dump(layout_.base));
    EXPECT_TRUE(now == Content(before) || now == Content(after));
    const bool applied = now == Content(after);
    applied_ += applied ? 1 : 0;
    if (applied) {
      EXPECT_THAT(Differences(), IsEmpty());
    } else {
      EXPECT_EQ(Differences().size(), differences_);
    }
    EXPECT_FALSE(Get(Applier::Recover(volume(), layout_)));
    Close();
  }
  // Without times, which are those of the test.
  static Tree Content(Tree tree) {
    for (auto& [path, text] : tree) {
      const size_t links = text.find(' '), time = text.find(' ', links + 1);
      const size_t rest = std::min(text.find(' ', time + 1), text.size());
      const bool directory = (std::stoul(text) & S_IFMT) == S_IFDIR;
      text = text.substr(0, directory ? links : time) + text.substr(rest);
    }
    return tree;
  }
  // What there is before and after an apply.
  void LookBeforeAndAfter(Tree* before, Tree* after) {
    StartAgain();
    *before = Dump(layout_.base);
    int status = 0;
    ASSERT_GT(::waitpid(Start(nullptr), &status, 0), 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    *after = Dump(layout_.base);
    ASSERT_NE(Content(*before), Content(*after));
  }
  int applied_ = 0;
  size_t differences_ = 0;
};

TEST_F(ApplyKillTest, AtAnyStepItIsAllOrNothing) {
  Tree before, after;
  LookBeforeAndAfter(&before, &after);
  int status = 0;
  for (int point = 0;; ++point) {
    SCOPED_TRACE("killed at step " + std::to_string(point));
    StartAgain();
    const pid_t child = Start([left = point](size_t, size_t) mutable {
      if (left-- == 0) ::kill(::getpid(), SIGKILL);
    });
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ExpectAllOrNothing(before, after);
    if (WIFEXITED(status)) {  // it was through before
      // Once everything was staged, it is completed.
      EXPECT_GE(applied_, point / 2);
      break;
    }
    ASSERT_LT(point, 1000);
  }
}

TEST_F(ApplyKillTest, AHundredKillsAtRandomTimes) {
  Tree before, after;
  LookBeforeAndAfter(&before, &after);
  int status = 0;
  std::mt19937 random(std::random_device{}());
#ifdef AGENTFS_SANITIZED  // the memory of a process that is killed is of no interest
  constexpr int kKills = 10;
#else
  constexpr int kKills = 100;
#endif
  for (int round = 0; round < kKills && !HasFailure(); ++round) {
    StartAgain();
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = Start([&, told = false](size_t, size_t) mutable {
      if (!std::exchange(told, true)) (void)!::write(ready[1], "x", 1);
    });
    ::close(ready[1]);
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::usleep(random() % 20'000);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ExpectAllOrNothing(before, after);
  }
  RecordProperty("applied", applied_);
}

TEST_F(ApplyKillTest, UndoIsAllOrNothingToo) {
  for (int point = 0;; ++point) {
    SCOPED_TRACE("killed at step " + std::to_string(point));
    StartAgain();
    const Tree before = Dump(layout_.base);
    OpenOverBase(Backing::kSqlite);
    ApplyAll();
    Close();
    const pid_t child = ::fork();
    if (child == 0) {
      OpenOverBase(Backing::kSqlite);
      Applier applier = Open();
      applier.SetHook([left = point](size_t, size_t) mutable {
        if (left-- == 0) ::kill(::getpid(), SIGKILL);
      });
      ::_exit(applier.UndoLast().ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    OpenOverBase(Backing::kSqlite);
    Get(Applier::Recover(volume(), layout_));
    EXPECT_EQ(Dump(layout_.base), before);
    EXPECT_EQ(Get(Branch()->ReadFile("dir/a")), "saved");
    Close();
    if (WIFEXITED(status)) break;
    ASSERT_LT(point, 1000);
  }
}

}  // namespace
}  // namespace agentfs
