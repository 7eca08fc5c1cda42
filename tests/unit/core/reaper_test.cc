// SPDX-License-Identifier: Apache-2.0
//
// What nobody can reach any more is removed from the store.
#include "core/reaper.h"

#include <fcntl.h>

#include "core_rig.h"

namespace agentfs {
namespace {

using posix::Pattern;

class ReaperTest : public CoreTest {
 protected:
  size_t ContentRows() {
    return Rows(tables::kData) + Rows(tables::kSpans) + Rows(tables::kObjects) +
           Rows(tables::kOrphans) + Rows(tables::kXattrs);
  }
};

TEST_F(ReaperTest, UnlinkingRemovesRowsAndObjects) {
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    Open(Backing::kSqlite);
    auto fs = Branch();
    Get(fs->WriteFile("small", "s"));
    Get(fs->WriteFile("large", Pattern(1 << 20)));
    Get(fs->SetXattr("large", "user.a", "b"));
    EXPECT_GT(ContentRows(), 0u);
    Get(fs->Unlink("small"));
    Get(fs->Unlink("large"));
    EXPECT_EQ(ContentRows(), 0u);
    EXPECT_EQ(Objects(), 0u);
    EXPECT_EQ(Get(volume().GetStats()).stored_bytes, 0u);
    ExpectClean();
    fs.reset();
    Close();
  }
}

TEST_F(ReaperTest, ABatchRemovesAShareAndClosingTheRest) {
  options_.commit_interval_ms = 3'600'000;
  Open(Backing::kSqlite);
  auto fs = Branch();
  constexpr int kFiles = 7000;  // more than three batches remove
  std::vector<std::unique_ptr<posix::OpenFile>> in_use;
  for (int i = 0; i < kFiles; ++i) {
    in_use.push_back(Get(fs->Open("f", O_RDWR | O_CREAT)));
    Get(fs->Unlink("f"));
  }
  Flush();
  in_use.clear();
  const size_t left = Rows(tables::kOrphans);
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, size_t{kFiles});
  fs.reset();
  Close();
  Open(Backing::kSqlite);
  EXPECT_EQ(ContentRows(), 0u);
  ExpectClean();
}

TEST_F(ReaperTest, TruncatingToNothingDropsTheContent) {
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    Open(Backing::kSqlite);
    auto fs = Branch();
    Get(fs->WriteFile("f", Pattern(1 << 20)));
    Flush();
    Get(fs->Truncate("f", 0));
    EXPECT_EQ(ContentRows(), 0u);
    EXPECT_EQ(Objects(), 0u);
    Get(fs->WriteFile("f", "new"));
    EXPECT_EQ(Get(fs->ReadFile("f")), "new");
    Get(fs->Truncate("f", 10));
    EXPECT_EQ(Get(fs->ReadFile("f")), std::string("new\0\0\0\0\0\0\0", 10));
    ExpectClean();
    Get(fs->Unlink("f"));
    fs.reset();
    Close();
  }
}

TEST_F(ReaperTest, ReplacingByRenameRemovesTheVictim) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("old", Pattern(200'000)));
  Get(fs->WriteFile("new", "n"));
  Get(fs->Rename("new", "old"));
  EXPECT_EQ(Objects(), 0u);
  EXPECT_EQ(Rows(tables::kData), 1u);
  ExpectClean();
}

TEST_F(ReaperTest, WhatASnapshotHasStays) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("f", Pattern(200'000)));
  Get(fs->WriteFile("small", "s"));
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  Get(fs->Unlink("f"));
  Get(fs->Unlink("small"));
  Flush();
  EXPECT_EQ(Objects(), 1u);
  EXPECT_EQ(Get(Snapshot("snap")->ReadFile("f")), Pattern(200'000));
  EXPECT_EQ(Get(Snapshot("snap")->ReadFile("small")), "s");
  ExpectClean();
}

TEST_F(ReaperTest, ACrashWithAnUnlinkedOpenFileLosesNothingButTime) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("f", Pattern(200'000)));
  Get(fs->WriteFile("small", "s"));
  auto large = Get(fs->Open("f", O_RDONLY));
  auto small = Get(fs->Open("small", O_RDONLY));
  Get(fs->Unlink("f"));
  Get(fs->Unlink("small"));
  EXPECT_EQ(Rows(tables::kOrphans), 2u) << "so that the next process finds them";
  store().FailCommits(EIO);
  large.reset();
  small.reset();
  fs.reset();
  AbandonAndReopen();
  EXPECT_EQ(ContentRows(), 0u);
  EXPECT_EQ(Objects(), 0u);
  EXPECT_EQ(Get(volume().GetStats()).stored_bytes, 0u);
  ExpectClean();
}

TEST_F(ReaperTest, AnUnnamedFileThatGotANameStays) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  auto file = Get(fs->Open("", O_RDWR | O_TMPFILE, 0600));
  Get(file->Write(0, Pattern(100'000)));
  Flush();
  Get(fs->LinkOpen(*file, "named"));
  file.reset();
  auto other = Get(fs->Open("", O_RDWR | O_TMPFILE, 0600));
  Get(other->Write(0, "gone with its handle"));
  other.reset();
  EXPECT_EQ(Rows(tables::kOrphans), 0u);
  EXPECT_EQ(Rows(tables::kData), 0u);
  fs.reset();
  Reopen();
  EXPECT_EQ(Get(Branch()->ReadFile("named")), Pattern(100'000));
  EXPECT_EQ(Get(Branch()->Stat("named")).nlink, 1u);
  ExpectClean();
}

TEST_F(ReaperTest, WhatCannotBeReadNowIsRemovedLater) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("f", Pattern(200'000)));
  auto file = Get(fs->Open("f", O_RDONLY));
  Get(fs->Unlink("f"));
  Flush();
  store().FailReads(EIO);
  file.reset();
  Flush();
  store().Heal();
  fs.reset();
  Reopen();
  EXPECT_EQ(ContentRows(), 0u);
  EXPECT_EQ(Objects(), 0u);
  ExpectClean();
}

}  // namespace
}  // namespace agentfs
