// SPDX-License-Identifier: Apache-2.0
#include "workspace/changes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core_rig.h"

namespace agentfs {
namespace {

using Lines = std::vector<std::string>;

class ChangesTest : public CoreTest {
 protected:
  // "M /a" with " content" and " mode" behind it; "R /old -> /new".
  Lines Changes(std::string_view from = "base", std::string_view to = "main") {
    static constexpr char kLetters[] = {'A', 'D', 'M', 'R'};
    Lines lines;
    for (const PathChange& change : Get(FindChanges(volume(), from, to))) {
      std::string line(1, kLetters[static_cast<size_t>(change.kind)]);
      if (!change.old_path.empty()) line += " " + change.old_path + " ->";
      line += " " + change.path;
      if (change.content) line += " content";
      if (change.mode) line += " mode";
      lines.push_back(line);
    }
    return lines;
  }
  void OpenSmallBase() {
    BaseDirectory("d");
    BaseDirectory("d/e");
    BaseFile("d/e/f", "deep");
    BaseFile("d/g", "g");
    BaseFile("top", "top");
    OpenOverBase();
  }
};

TEST_F(ChangesTest, AnUntouchedBranchDiffersInNothing) {
  OpenSmallBase();
  auto fs = Branch();
  EXPECT_EQ(Get(fs->ReadFile("d/e/f")), "deep");
  EXPECT_EQ(Changes(), Lines{});
}

TEST_F(ChangesTest, FindsWhatWasAddedRemovedAndModified) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("d/e/f", "other"));
  Get(fs->WriteFile("d/new", "x"));
  Get(fs->Chmod("top", 0600));
  Get(fs->Unlink("d/g"));
  EXPECT_EQ(Changes(), (Lines{"M /d/e/f content", "D /d/g", "A /d/new", "M /top mode"}));
  EXPECT_EQ(Changes("main", "base"),
            (Lines{"M /d/e/f content", "A /d/g", "D /d/new", "M /top mode"}));
}

TEST_F(ChangesTest, TheSameBytesAreNoDifference) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("top", "else"));
  Get(fs->WriteFile("top", "top"));
  Get(fs->Unlink("d/g"));
  EXPECT_EQ(Changes(), Lines{"D /d/g"});
}

TEST_F(ChangesTest, FollowsRenamesOfFilesAndDirectories) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->Rename("top", "d/moved"));
  Get(fs->Rename("d/e", "h"));
  Get(fs->WriteFile("h/f", "changed there"));
  EXPECT_EQ(Changes(), (Lines{"R /top -> /d/moved", "R /d/e -> /h", "R /d/e/f -> /h/f content"}));
}

TEST_F(ChangesTest, AFileWithSeveralNamesHasChangedUnderEach) {
  BaseDirectory("d");
  BaseFile("a", "old");
  std::filesystem::create_hard_link(base("a"), base("b"));
  std::filesystem::create_hard_link(base("a"), base("d/c"));
  OpenOverBase();
  auto fs = Branch();
  Get(fs->Unlink("b"));
  EXPECT_EQ(Changes(), Lines{"D /b"});
  Get(volume().CreateSnapshot("main", "one", "", Durability::kNone));
  Get(fs->WriteFile("d/c", "new"));
  EXPECT_EQ(Changes(), (Lines{"M /a content", "D /b", "M /d/c content"}));
  EXPECT_EQ(Changes("one", "main"), (Lines{"M /a content", "M /d/c content"}));
  EXPECT_EQ(Changes("main", "base"), (Lines{"M /a content", "A /b", "M /d/c content"}));
}

TEST_F(ChangesTest, TheNameThatIsLeftOfSeveralHasChanged) {
  BaseFile("a", "old");
  std::filesystem::create_hard_link(base("a"), base("b"));
  OpenOverBase();
  auto fs = Branch();
  Get(fs->Unlink("a"));
  Get(fs->WriteFile("b", "new"));
  EXPECT_EQ(Changes(), (Lines{"D /a", "M /b content"}));
  Get(fs->Rename("b", "c"));
  EXPECT_EQ(Changes(), (Lines{"D /b", "R /a -> /c content"}));
}

TEST_F(ChangesTest, AReplacedDirectoryDiffersInWhatItHolds) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->Unlink("d/e/f"));
  Get(fs->RemoveDirectory("d/e"));
  Flush();
  Get(fs->MakeDirectory("d/e"));
  Get(fs->WriteFile("d/e/other", "x"));
  EXPECT_EQ(Changes(), (Lines{"D /d/e/f", "A /d/e/other"}));
}

TEST_F(ChangesTest, WhatWasMadeAnewWithTheSameBytesIsNoDifference) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("new", "top"));
  Get(fs->Rename("new", "top"));
  Get(fs->Unlink("d/e/f"));
  Get(fs->RemoveDirectory("d/e"));
  Get(fs->MakeDirectory("d/e"));
  Get(fs->WriteFile("d/e/f", "deep"));
  EXPECT_EQ(Changes(), Lines{});
  Get(fs->WriteFile("new", "tip"));
  Get(fs->Rename("new", "top"));
  EXPECT_EQ(Changes(), Lines{"M /top content"});
}

TEST_F(ChangesTest, ARenameOverAnotherFileModifiesThat) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->Rename("d/g", "top"));
  EXPECT_EQ(Changes(), (Lines{"D /d/g", "M /top content"}));
}

TEST_F(ChangesTest, AFileThatIsALinkNowHasChangedItsType) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->Unlink("top"));
  Get(fs->MakeSymlink("d/g", "top"));
  EXPECT_EQ(Changes(), (Lines{"M /top content mode"}));
}

TEST_F(ChangesTest, ExtendedAttributesAreADifference) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->SetXattr("top", "user.k", "v"));
  const auto changes = Get(FindChanges(volume(), "base", "main"));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].xattrs);
}

TEST_F(ChangesTest, SelectsPathsAndCutsRenamesAtTheirBorder) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->Rename("top", "d/top"));
  Get(fs->Rename("d/g", "g"));
  Get(fs->WriteFile("d/e/f", "x"));
  auto selected = SelectPaths(Get(FindChanges(volume(), "base", "main")), {"/d"});
  Lines lines;
  for (const PathChange& each : selected) lines.push_back(each.path);
  EXPECT_EQ(lines, (Lines{"/d/e/f", "/d/g", "/d/top"}));
  EXPECT_EQ(selected[1].kind, PathChange::Kind::kRemoved);
  EXPECT_EQ(selected[2].kind, PathChange::Kind::kAdded);
}

TEST_F(ChangesTest, TreesMayBeDeep) {
  OpenSmallBase();
  auto fs = Branch();
  std::string path = "deep";
  for (int i = 0; i < 1000; ++i, path += "/d") Get(fs->MakeDirectory(path));
  EXPECT_EQ(Changes().size(), 1000u);
}

TEST_F(ChangesTest, ComparesSnapshotsAndBranchesWithEachOther) {
  Open();
  auto fs = Branch();
  Get(fs->WriteFile("a", "1"));
  Get(volume().CreateSnapshot("main", "one", "", Durability::kNone));
  Get(fs->WriteFile("b", "2"));
  Get(volume().CreateBranch("side", "one"));
  Get(Branch("side")->WriteFile("a", "side"));
  EXPECT_EQ(Changes("one", "main"), Lines{"A /b"});
  EXPECT_EQ(Changes("side", "main"), (Lines{"M /a content", "A /b"}));
  EXPECT_EQ(Changes("base", "one"), Lines{"A /a"});
}

TEST_F(ChangesTest, SurvivesReopening) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->MakeDirectory("d"));
  Get(fs->WriteFile("d/a", "1"));
  Get(volume().CreateSnapshot("main", "one", "", Durability::kNone));
  Get(fs->Rename("d", "e"));
  Get(fs->WriteFile("e/a", "2"));
  fs.reset();
  Reopen();
  EXPECT_EQ(Changes("one", "main"), (Lines{"R /d -> /e", "R /d/a -> /e/a content"}));
}

}  // namespace
}  // namespace agentfs
