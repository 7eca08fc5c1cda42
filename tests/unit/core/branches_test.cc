// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include "core_rig.h"

namespace agentfs {
namespace {

class BranchesTest : public CoreTest {
 protected:
  SnapshotInfo Take(const std::string& name, const std::string& branch = "main") {
    return Get(volume().CreateSnapshot(branch, name, "", Durability::kNone));
  }
};

TEST_F(BranchesTest, StartsWithMain) {
  Open();
  const auto branches = volume().ListBranches();
  ASSERT_EQ(branches.size(), 1u);
  EXPECT_EQ(branches[0].name, "main");
  EXPECT_FALSE(branches[0].in_use);
  EXPECT_TRUE(volume().ListSnapshots().empty());
}

TEST_F(BranchesTest, ChangesStayInTheirBranch) {
  Open();
  auto main = Branch();
  Get(main->WriteFile("shared", "before"));
  Get(volume().CreateBranch("b", "main"));
  auto b = Branch("b");
  EXPECT_EQ(Get(b->ReadFile("shared")), "before");
  Get(b->WriteFile("shared", "of b"));
  Get(main->WriteFile("shared", "of main"));
  Get(b->WriteFile("only", "b"));
  EXPECT_EQ(Get(main->ReadFile("shared")), "of main");
  EXPECT_EQ(Get(b->ReadFile("shared")), "of b");
  EXPECT_EQ(main->Stat("only").code(), ENOENT);
  ExpectClean();
}

TEST_F(BranchesTest, LookingIntoANewBranchCommitsOnlyWhatItWasMadeOf) {
  options_.commit_interval_ms = 60'000;
  Open();
  Get(Branch()->WriteFile("file", "of main"));
  for (const char* name : {"first", "second"}) {
    Get(volume().CreateBranch(name, "main"));
    EXPECT_EQ(Get(Branch(name)->ReadFile("file")), "of main");
  }
  EXPECT_GT(Get(volume().GetStats()).pending_bytes, 0u);  // the second branch itself
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  EXPECT_EQ(Get(Snapshot("snap")->ReadFile("file")), "of main");
  EXPECT_GT(Get(volume().GetStats()).pending_bytes, 0u);
}

TEST_F(BranchesTest, ASnapshotStaysWhatItWas) {
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    Open();
    auto fs = Branch();
    const std::string large = posix::Pattern(300'000);
    Get(fs->WriteFile("small", "one"));
    Get(fs->WriteFile("large", large));
    Get(fs->MakeDirectory("d"));
    Take("snap");
    Get(fs->WriteFile("small", "two"));
    Get(Get(fs->Open("large", O_WRONLY))->Write(150'000, "changed"));
    Get(fs->Truncate("large", 200'000));
    Get(fs->RemoveDirectory("d"));
    auto snap = Snapshot("snap");
    EXPECT_EQ(Get(snap->ReadFile("small")), "one");
    EXPECT_EQ(Get(snap->ReadFile("large")), large);
    EXPECT_TRUE(snap->Stat("d").ok());
    EXPECT_EQ(Get(fs->ReadFile("small")), "two");
    fs.reset();
    snap.reset();
    Close();
  }
}

TEST_F(BranchesTest, ASnapshotCannotBeChanged) {
  Open();
  auto fs = Branch();
  Get(fs->WriteFile("f", "x"));
  Get(fs->MakeDirectory("d"));
  Take("snap");
  auto snap = Snapshot("snap");
  EXPECT_EQ(snap->WriteFile("new", "x").code(), EROFS);
  EXPECT_EQ(snap->Unlink("f").code(), EROFS);
  EXPECT_EQ(snap->MakeDirectory("e").code(), EROFS);
  EXPECT_EQ(snap->RemoveDirectory("d").code(), EROFS);
  EXPECT_EQ(snap->Rename("f", "g").code(), EROFS);
  EXPECT_EQ(snap->Link("f", "g").code(), EROFS);
  EXPECT_EQ(snap->Chmod("f", 0600).code(), EROFS);
  EXPECT_EQ(snap->Truncate("f", 0).code(), EROFS);
  EXPECT_EQ(snap->SetXattr("f", "user.a", "b").code(), EROFS);
  EXPECT_EQ(snap->MakeSymlink("f", "l").code(), EROFS);
}

TEST_F(BranchesTest, EveryKindOfRefWorks) {
  BaseFile("f", "base");
  OpenOverBase();
  auto fs = Branch();
  Get(fs->WriteFile("f", "one"));
  const SnapshotInfo first = Take("");
  EXPECT_EQ(first.name, "s" + std::to_string(first.number));
  Get(fs->WriteFile("f", "two"));
  const SnapshotInfo named = Take("a/named.snap_1");
  Get(fs->WriteFile("f", "three"));
  const auto content = [&](const std::string& branch, const std::string& ref) {
    Get(volume().CreateBranch(branch, ref));
    return Get(Branch(branch)->ReadFile("f"));
  };
  EXPECT_EQ(content("b1", first.name), "one");
  EXPECT_EQ(content("b2", "a/named.snap_1"), "two");
  EXPECT_EQ(content("b3", "s" + std::to_string(named.number)), "two");
  EXPECT_EQ(content("b4", "main"), "three");
  EXPECT_EQ(content("b5", "base"), "base");
  EXPECT_EQ(volume().CreateBranch("b6", "nothing").code(), ENOENT);
  EXPECT_EQ(volume().OpenSnapshot("nothing").code(), ENOENT);
  EXPECT_EQ(volume().OpenBranch("nothing").code(), ENOENT);
  EXPECT_EQ(Get(Snapshot("base")->ReadFile("f")), "base");
}

TEST_F(BranchesTest, NamesAreChecked) {
  Open();
  for (const std::string good : {"a", "A-Z.0_9/x", "feature/x", "9", "_"}) {
    EXPECT_TRUE(CheckRefName(good).ok()) << good;
    EXPECT_TRUE(volume().CreateBranch(good, "main").ok()) << good;
  }
  EXPECT_TRUE(CheckRefName(std::string(128, 'a')).ok());
  const std::string bad[] = {"",     "-a",
                             ".a",   "a b",
                             "a\n",  "\xff",
                             "a:b",  "base",
                             "s12",  std::string(129, 'a'),
                             "a\\b", "\"a\"",
                             "a*",   std::string("a\0b", 3)};
  for (const std::string& name : bad) {
    EXPECT_EQ(CheckRefName(name).code(), EINVAL) << name;
    EXPECT_EQ(volume().CreateBranch(name, "main").code(), EINVAL) << name;
    if (!name.empty()) {
      EXPECT_EQ(volume().CreateSnapshot("main", name, "", Durability::kNone).code(), EINVAL);
    }
  }
  EXPECT_EQ(volume().CreateBranch("a", "main").code(), EEXIST);
  EXPECT_EQ(volume().CreateSnapshot("main", "a", "", Durability::kNone).code(), EEXIST)
      << "branches and snapshots share one set of names";
}

TEST_F(BranchesTest, ASnapshotThatABranchStandsOnCanBeDeleted) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("f", "kept"));
  Get(fs->WriteFile("large", posix::Pattern(100'000)));
  Take("snap");
  Get(volume().CreateBranch("b", "snap"));
  Get(fs->Unlink("f"));
  Get(fs->Unlink("large"));
  Get(volume().DeleteSnapshot("snap"));
  EXPECT_TRUE(volume().ListSnapshots().empty());
  EXPECT_EQ(volume().DeleteSnapshot("snap").code(), ENOENT);
  EXPECT_EQ(Get(Branch("b")->ReadFile("f")), "kept");
  fs.reset();
  Get(volume().CollectGarbage());
  EXPECT_EQ(Get(Branch("b")->ReadFile("f")), "kept");
  Reopen();
  EXPECT_EQ(Get(Branch("b")->ReadFile("f")), "kept");
  EXPECT_EQ(Get(Branch("b")->ReadFile("large")), posix::Pattern(100'000));
  ExpectClean();
}

TEST_F(BranchesTest, ABranchInUseCannotBeDeleted) {
  Open();
  Get(volume().CreateBranch("b", "main"));
  auto b = Branch("b");
  EXPECT_TRUE(volume().ListBranches()[0].in_use);
  EXPECT_EQ(volume().DeleteBranch("b").code(), EBUSY);
  Get(b->WriteFile("f", "x"));
  b.reset();
  Get(volume().DeleteBranch("b"));
  EXPECT_EQ(volume().OpenBranch("b").code(), ENOENT);
  EXPECT_EQ(volume().DeleteBranch("b").code(), ENOENT);
  EXPECT_EQ(volume().DeleteBranch("main").code(), EBUSY);
}

TEST_F(BranchesTest, ClosingWithAnOpenViewIsRefused) {
  Open();
  auto fs = Branch();
  EXPECT_EQ(volume().Close().code(), EBUSY);
  Get(fs->WriteFile("f", "still works"));
  fs.reset();
  Get(volume().Close());
  Get(volume().Close());
}

TEST_F(BranchesTest, RestoringMakesABranchWhatItWas) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("f", "before"));
  Get(fs->MakeDirectory("d"));
  Take("snap");
  Get(fs->WriteFile("f", "after"));
  Get(fs->WriteFile("new", "n"));
  Get(fs->RemoveDirectory("d"));
  auto stale = Get(fs->Open("new", O_RDWR));
  auto same = Get(fs->Open("f", O_RDWR));
  Get(volume().Restore("main", "snap"));
  EXPECT_EQ(Get(fs->ReadFile("f")), "before") << "the open view sees it";
  EXPECT_EQ(fs->Stat("new").code(), ENOENT);
  EXPECT_TRUE(fs->Stat("d").ok());
  EXPECT_EQ(stale->Read(0, 1).code(), ESTALE);
  EXPECT_EQ(Get(same->Read(0, 10)), "before");
  stale.reset();
  same.reset();
  Get(fs->WriteFile("f", "later"));
  EXPECT_EQ(Get(Snapshot("snap")->ReadFile("f")), "before");
  fs.reset();
  Reopen();
  EXPECT_EQ(Get(Branch()->ReadFile("f")), "later");
  EXPECT_EQ(volume().Restore("main", "nothing").code(), ENOENT);
  EXPECT_EQ(volume().Restore("nothing", "snap").code(), ENOENT);
  ExpectClean();
}

// What is left to be done after the commit of a change finds the file without its content.
TEST_F(BranchesTest, AFileIsMadeShorterWhileItsBranchIsRestored) {
  options_.commit_interval_ms = 60'000;
  Open(Backing::kSqlite);
  auto fs = Branch();
  Take("snap");
  auto file = Get(fs->Open("f", O_RDWR | O_CREAT));
  Get(file->Write(0, std::string(3 << 20, 'x')));
  Get(volume().Flush(Durability::kSynced));
  Get(fs->WriteFile("pending", ""));
  DuringNextCommit([&] { Get(file->Truncate(1 << 20)); });
  Get(volume().Restore("main", "snap"));
  Get(volume().Flush(Durability::kSynced));
  EXPECT_EQ(file->Read(0, 1).code(), ESTALE);
  file.reset();
  fs.reset();
  ExpectClean();
}

// Rows written, whatever the size of the tree.
TEST_F(BranchesTest, SnapshotForkAndRestoreAreConstant) {
  Open();
  auto fs = Branch();
  uint64_t rows[2][3];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < (round == 0 ? 10 : 3000); ++i) {
      Get(fs->WriteFile("f" + std::to_string(round) + "." + std::to_string(i), "x"));
    }
    const std::string n = std::to_string(round);
    rows[round][0] = RowsWritten([&] { Take("snap" + n); });
    rows[round][1] = RowsWritten([&] { Get(volume().CreateBranch("b" + n, "snap" + n)); });
    Get(fs->WriteFile("one", n));
    rows[round][2] = RowsWritten([&] { Get(volume().Restore("main", "snap" + n)); });
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(rows[0][i], 12u) << i;
    EXPECT_LE(rows[1][i], rows[0][i] + 2) << i;
  }
}

TEST_F(BranchesTest, TenThousandSnapshotsOnOneLineWork) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("oldest", "of the first layer"));
  Get(fs->MakeDirectory("d"));
  for (int i = 1; i <= 10'000; ++i) {
    Get(Get(fs->Open("counter", O_WRONLY | O_CREAT))->Write(0, std::to_string(100'000 + i)));
    if (i % 100 == 0) Get(fs->WriteFile("d/" + std::to_string(i), "x"));
    Take("n" + std::to_string(i));
  }
  EXPECT_EQ(volume().ListSnapshots().size(), 10'000u);
  fs.reset();
  Reopen();
  fs = Branch();
  EXPECT_EQ(Get(fs->ReadFile("oldest")), "of the first layer");
  EXPECT_EQ(Get(fs->List("d")).size(), 100u);
  EXPECT_EQ(Get(fs->ReadFile("counter")), "110000");
  for (const int i : {1, 2, 4999, 5000, 9999, 10'000}) {
    auto snap = Snapshot("n" + std::to_string(i));
    EXPECT_EQ(Get(snap->ReadFile("counter")), std::to_string(100'000 + i));
    EXPECT_EQ(Get(snap->List("d")).size(), static_cast<size_t>(i / 100));
  }
  EXPECT_EQ(Get(volume().GetStats()).snapshots, 10'000u);
}

TEST_F(BranchesTest, AThousandBranchesWork) {
  Open();
  auto fs = Branch();
  Get(fs->WriteFile("common", "common"));
  Take("snap");
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "b" + std::to_string(i);
    Get(volume().CreateBranch(name, i % 2 == 0 ? "snap" : "main"));
    auto branch = Branch(name);
    Get(branch->WriteFile("own", name));
    if (i % 3 == 0) Get(branch->WriteFile("common", name));
  }
  EXPECT_EQ(volume().ListBranches().size(), 1001u);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "b" + std::to_string(i);
    auto branch = Branch(name);
    EXPECT_EQ(Get(branch->ReadFile("own")), name);
    EXPECT_EQ(Get(branch->ReadFile("common")), i % 3 == 0 ? name : "common");
  }
  EXPECT_EQ(fs->Stat("own").code(), ENOENT);
  for (int i = 0; i < 1000; ++i) Get(volume().DeleteBranch("b" + std::to_string(i)));
  EXPECT_EQ(Get(fs->ReadFile("common")), "common");
  Get(volume().CollectGarbage());
  EXPECT_LE(Get(volume().GetStats()).layers, 5u);
  ExpectClean();
}

TEST_F(BranchesTest, GarbageIsCollectedAndCounted) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("keep", "k"));
  Take("snap");
  Get(volume().CreateBranch("b", "snap"));
  {
    auto b = Branch("b");
    Get(b->WriteFile("large", posix::Pattern(500'000)));
    Get(b->WriteFile("small", "content"));
  }
  EXPECT_EQ(Objects(), 1u);
  Get(volume().DeleteBranch("b"));
  const GcReport report = Get(volume().CollectGarbage());
  EXPECT_GE(report.layers_removed, 1u);
  EXPECT_GT(report.rows_removed, 0u);
  EXPECT_EQ(report.objects_removed, 1u);
  EXPECT_GE(report.bytes_reclaimed, 500'000u);
  EXPECT_EQ(Objects(), 0u);
  EXPECT_EQ(Get(fs->ReadFile("keep")), "k");
  const GcReport again = Get(volume().CollectGarbage());
  EXPECT_EQ(again.layers_removed + again.rows_removed + again.objects_removed, 0u);
  ExpectClean();
}

TEST_F(BranchesTest, MergingLayersChangesNothingThatCanBeSeen) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  for (int i = 0; i < 20; ++i) {
    Get(fs->WriteFile("f" + std::to_string(i % 7), "content " + std::to_string(i)));
    Get(Get(fs->Open("large", O_WRONLY | O_CREAT))
            ->Write(static_cast<uint64_t>(i) * 7000, posix::Pattern(9000, i + 1)));
    if (i % 5 == 4) Get(fs->Unlink("f" + std::to_string(i % 7)));
    Take("n" + std::to_string(i));
  }
  std::vector<std::string> before;
  const auto look = [&] {
    std::vector<std::string> seen;
    for (const auto& entry : Get(fs->List(""))) {
      seen.push_back(entry.name + "=" + Get(fs->ReadFile(entry.name)));
    }
    return seen;
  };
  before = look();
  const std::string old = Get(Snapshot("n10")->ReadFile("large"));
  for (int i = 0; i < 20; ++i) {
    if (i != 10) Get(volume().DeleteSnapshot("n" + std::to_string(i)));
  }
  const GcReport report = Get(volume().CollectGarbage());
  EXPECT_GE(report.layers_merged, 10u);
  EXPECT_EQ(look(), before);
  EXPECT_EQ(Get(Snapshot("n10")->ReadFile("large")), old);
  fs.reset();
  Reopen();
  fs = Branch();
  EXPECT_EQ(look(), before);
  EXPECT_EQ(Get(Snapshot("n10")->ReadFile("large")), old);
  ExpectClean();
}

}  // namespace
}  // namespace agentfs
