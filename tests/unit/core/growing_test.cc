// SPDX-License-Identifier: Apache-2.0
//
// Files that are marked as growing: which get a mark, and what takes it away.
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "core/growing_files.h"
#include "core/records.h"
#include "core_rig.h"
#include "store/codec.h"

namespace agentfs {
namespace {

class GrowingTest : public CoreTest {
 protected:
  void SetUp() override {
    options_.commit_interval_ms = 60'000;
    Open(Backing::kSqlite);
    Look();
  }
  void TearDown() override { LetGo(); }
  void LetGo() {
    log_ = NodeRef();
    fs_.reset();
  }
  void Look(const std::string& branch = "main") { fs_ = Get(volume().OpenBranch(branch)); }

  NodeRef Create(const std::string& name) {
    return Get(fs_->Create(Caller(), *fs_->Root(), name, 0644)).node;
  }
  void Append(Node& file, size_t bytes) {
    Get(fs_->Append(Caller(), file, std::string(bytes, 'x')));
    Get(fs_->SyncData(file));
  }
  // Appended to and synced until it has a mark, if it can get one.
  void Grow(Node& file) {
    Append(file, 100'000);
    for (int i = 0; i < 5; ++i) Append(file, 1000);
  }
  void StartLog() {
    log_ = Create("log");
    Grow(*log_);
    ASSERT_EQ(Marks(), 1u);
  }
  size_t Marks() { return Rows(tables::kGrowing); }
  void Resize(uint64_t size) {
    AttrChange change;
    change.size = size;
    Get(fs_->SetAttr(Caller(), *log_, change));
  }

  std::shared_ptr<FileSystem> fs_;
  NodeRef log_;
};

TEST_F(GrowingTest, AFileThatIsSyncedOnceGetsNoMark) {
  log_ = Create("f");
  Append(*log_, 100'000);
  Append(*log_, 1000);
  EXPECT_EQ(Marks(), 0u);
}

TEST_F(GrowingTest, AFileInRowsGetsNoMark) {
  log_ = Create("f");
  for (int i = 0; i < 10; ++i) Append(*log_, 100);
  EXPECT_EQ(Marks(), 0u);
}

TEST_F(GrowingTest, NoMarkIsLeftWhenTheVolumeIsClosed) {
  StartLog();
  Append(*log_, 5000);
  LetGo();
  Reopen();
  EXPECT_EQ(Marks(), 0u);
  Look();
  EXPECT_EQ(Get(fs_->Lookup(Caller(), *fs_->Root(), "log")).attr.size, 110'000u);
  ExpectClean();
}

TEST_F(GrowingTest, WhatLetsTheObjectEndElsewhereTakesTheMarkAway) {
  StartLog();
  Resize(101'000);
  EXPECT_EQ(Marks(), 0u) << "made shorter";
  Grow(*log_);
  ASSERT_EQ(Marks(), 1u);
  Get(fs_->Allocate(Caller(), *log_, AllocateMode::kPunchHole, 1000, 50'000));
  EXPECT_EQ(Marks(), 0u) << "a hole";
  Grow(*log_);
  ASSERT_EQ(Marks(), 1u);
  Resize(0);
  EXPECT_EQ(Marks(), 0u) << "emptied";
  Grow(*log_);
  ASSERT_EQ(Marks(), 1u);
  Get(fs_->Unlink(Caller(), *fs_->Root(), "log"));
  EXPECT_EQ(Marks(), 0u) << "unlinked";
  ExpectClean();
}

TEST_F(GrowingTest, ACopyIntoALogTakesTheMarkAway) {
  StartLog();
  const NodeRef other = Create("other");
  Append(*other, 300'000);
  Get(fs_->CopyRange(Caller(), *other, 0, *log_, 0, 200'000));
  EXPECT_EQ(Marks(), 0u);
}

TEST_F(GrowingTest, ASnapshotTakesTheMarkAwayAndTheLogGetsANewOne) {
  StartLog();
  Get(volume().CreateSnapshot("main", "s", "", Durability::kNone));
  EXPECT_EQ(Marks(), 0u);
  for (int i = 0; i < 3; ++i) Append(*log_, 1000);
  EXPECT_EQ(Marks(), 1u);
  Get(volume().Restore("main", "s"));
  EXPECT_EQ(Marks(), 0u) << "restored";
}

TEST_F(GrowingTest, ABranchThatGoesTakesItsMarksAlong) {
  Get(volume().CreateBranch("work", "main"));
  Look("work");
  StartLog();
  LetGo();
  Get(volume().DeleteBranch("work"));
  EXPECT_EQ(Marks(), 0u);
  Get(volume().CollectGarbage());
  ExpectClean();
}

TEST_F(GrowingTest, OnlySoManyFilesHaveAMark) {
  for (size_t i = 0; i < GrowingFiles::kMost + 3; ++i) {
    const NodeRef file = Create("log" + std::to_string(i));
    Grow(*file);
  }
  EXPECT_EQ(Marks(), GrowingFiles::kMost);
  ExpectClean();
}

TEST_F(GrowingTest, MarksThatSpeakOfNothingAreDroppedWhenTheVolumeIsOpened) {
  Flush();
  Batch batch;
  const auto put = [&](uint64_t content, uint64_t layer, uint64_t node, uint64_t object) {
    const GrowthMark mark{ContentId(content), LayerId(layer), NodeId(node), ObjectId(object)};
    batch.Put(tables::kGrowing, mark.Key(), mark.Value());
  };
  put(77, 1, 5, 9);
  put(78, 2, 1, 9);
  put(79, 2, 4711, 9);
  put(80, 4711, 1, 1);
  Get(store().Commit(batch, Durability::kSynced));
  EXPECT_EQ(Get(volume().Check(false)).problems.size(), 4u);
  LetGo();
  Reopen();
  EXPECT_EQ(Marks(), 0u);
  ExpectClean();
}

TEST_F(GrowingTest, AMissingObjectIsFsckToTell) {
  StartLog();
  LetGo();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(state() + "/objects")) {
    if (entry.is_regular_file()) std::filesystem::remove(entry.path());
  }
  AbandonAndReopen();
  EXPECT_EQ(Marks(), 0u);
  const FsckReport report = Get(volume().Check(false));
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].what.find("is missing"), std::string::npos);
}

// After a crash a log was longer than its record, and its object cannot be read.
class UnreadGrowingTest : public GrowingTest {
 protected:
  static constexpr uint64_t kRecorded = 105'000, kSynced = 110'000;

  void SetUp() override {
    GrowingTest::SetUp();
    other_ = Create("other");
    Append(*other_, 200'000);
    StartLog();
    Flush();
    Append(*log_, kSynced - kRecorded);
    const GrowthMark mark = TheMark();
    LetAllGo();
    sectors().Fail(mark.object, EIO);
    AbandonAndReopen();
    Find();
  }
  void TearDown() override {
    other_ = NodeRef();
    GrowingTest::TearDown();
  }
  void Find() {
    Look();
    log_ = Get(fs_->Lookup(Caller(), *fs_->Root(), "log")).node;
    other_ = Get(fs_->Lookup(Caller(), *fs_->Root(), "other")).node;
  }
  void LetAllGo() {
    other_ = NodeRef();
    LetGo();
  }
  GrowthMark TheMark() {
    std::optional<GrowthMark> mark;
    Get(store().Scan(ScanRange{tables::kGrowing}, [&](const RowView& row) {
      mark = GrowthMark::Parse(row.key, row.value);
      return Visit::kContinue;
    }));
    return mark.value();
  }
  std::vector<std::string> Problems() {
    Flush();
    std::vector<std::string> problems;
    for (const auto& problem : Get(volume().Check(false)).problems) {
      problems.push_back(problem.what);
    }
    return problems;
  }
  int ReadCode(Node& node, uint64_t offset = 0) {
    char byte = 0;
    return fs_->Read(node, offset, {&byte, 1}).code();
  }
  int SizeCode(uint64_t size) {
    AttrChange change;
    change.size = size;
    return fs_->SetAttr(Caller(), *log_, change).code();
  }

  NodeRef other_;
};

TEST_F(UnreadGrowingTest, FailsAlone) {
  EXPECT_EQ(ReadCode(*other_), 0);
  EXPECT_EQ(Get(fs_->GetAttr(*log_)).size, kRecorded);
  EXPECT_EQ(ReadCode(*log_), EIO);
  Get(fs_->Write(Caller(), *Create("new"), 0, std::string(100'000, 'n')));
  const auto problems = Problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("cannot be read"), std::string::npos) << problems[0];
}

// Who appended where the record ends would write over what was synced.
TEST_F(UnreadGrowingTest, IsLeftAsItIsUntilItCanBeRead) {
  sectors().Heal();
  EXPECT_EQ(ReadCode(*log_), EIO);
  EXPECT_EQ(ReadCode(*log_, kRecorded), EIO);
  EXPECT_EQ(fs_->Append(Caller(), *log_, std::string("x")).code(), EIO);
  EXPECT_EQ(fs_->Write(Caller(), *log_, 0, std::string("x")).code(), EIO);
  EXPECT_EQ(fs_->Allocate(Caller(), *log_, AllocateMode::kPunchHole, 0, 50'000).code(), EIO);
  EXPECT_EQ(fs_->CopyRange(Caller(), *other_, 0, *log_, 0, 200'000).code(), EIO);
  EXPECT_EQ(fs_->CopyRange(Caller(), *log_, 0, *other_, 0, 100'000).code(), EIO);
  EXPECT_EQ(fs_->Seek(*log_, 0, SeekTarget::kData).code(), EIO);
  EXPECT_EQ(SizeCode(50'000), EIO);
  EXPECT_EQ(SizeCode(500'000), EIO);
  EXPECT_EQ(Marks(), 1u);
  LetAllGo();
  Reopen();
  Find();
  EXPECT_EQ(Get(fs_->GetAttr(*log_)).size, kSynced);
  EXPECT_EQ(ReadCode(*log_, kSynced - 1), 0);
  EXPECT_EQ(Marks(), 0u);
  ExpectClean();
}

TEST_F(UnreadGrowingTest, CanBeEmptied) {
  EXPECT_EQ(SizeCode(0), 0);
  EXPECT_EQ(Marks(), 0u);
  Get(fs_->Write(Caller(), *log_, 0, std::string("new")));
  EXPECT_EQ(ReadCode(*log_), 0);
  ExpectClean();
}

TEST_F(UnreadGrowingTest, CanBeRemoved) {
  Get(fs_->Unlink(Caller(), *fs_->Root(), "log"));
  log_ = NodeRef();
  EXPECT_EQ(Marks(), 0u);
  ExpectClean();
}

TEST_F(UnreadGrowingTest, IsInASnapshotAsItsRecordHasIt) {
  Get(volume().CreateSnapshot("main", "s", "", Durability::kNone));
  EXPECT_EQ(Marks(), 0u);
  EXPECT_EQ(ReadCode(*log_), EIO) << "of the disk";
  sectors().Heal();
  EXPECT_EQ(ReadCode(*log_), 0);
  EXPECT_EQ(Get(fs_->GetAttr(*log_)).size, kRecorded);
  ExpectClean();
}

TEST(GrowingFilesTest, InMemoryNothingIsMarked) {
  struct InMemory : CoreTest {
    void TestBody() override {
      Open();
      auto fs = Get(volume().OpenBranch("main"));
      const NodeRef file = Get(fs->Create(Caller(), *fs->Root(), "f", 0644)).node;
      for (int i = 0; i < 8; ++i) {
        Get(fs->Append(Caller(), *file, std::string(100'000, 'x')));
        Get(fs->SyncData(*file));
      }
      EXPECT_EQ(Rows(tables::kGrowing), 0u);
    }
  };
  InMemory().TestBody();
}

}  // namespace
}  // namespace agentfs
