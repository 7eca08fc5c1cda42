// SPDX-License-Identifier: Apache-2.0
//
// Statistics are true, and memory stays within its budgets.
#include <fcntl.h>

#include <random>

#include "core_rig.h"

namespace agentfs {
namespace {

using posix::Pattern;

class StatisticsTest : public CoreTest {
 protected:
  VolumeStats Stats() {
    Flush();
    return Get(volume().GetStats());
  }
  ViewStats Of(const std::string& ref) { return Get(volume().GetViewStats(ref)); }
};

TEST_F(StatisticsTest, AViewKnowsItsFilesDirectoriesAndSizes) {
  Open(Backing::kSqlite);
  auto fs = Branch();
  EXPECT_EQ(Of("main").directories, 1u) << "the root";
  Get(fs->WriteFile("a", Pattern(1000)));
  Get(fs->WriteFile("large", Pattern(100'000)));
  Get(fs->MakeDirectory("d"));
  Get(fs->MakeSymlink("a", "l"));
  Get(fs->Link("a", "d/b"));
  const auto expect = [&](const std::string& ref, uint64_t files, uint64_t directories,
                          uint64_t size) {
    const ViewStats stats = Of(ref);
    EXPECT_EQ(stats.files, files) << ref;
    EXPECT_EQ(stats.directories, directories) << ref;
    EXPECT_EQ(stats.total_size, size) << ref;
  };
  expect("main", 3, 2, 101'000);
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  Get(fs->Truncate("large", 70'000));
  Get(Get(fs->Open("a", O_WRONLY | O_APPEND))->Append("12345"));
  Get(fs->Unlink("l"));
  Get(fs->Unlink("a"));
  expect("main", 2, 2, 71'005);
  expect("snap", 3, 2, 101'000);
  Get(fs->Unlink("d/b"));
  Get(fs->RemoveDirectory("d"));
  expect("main", 1, 1, 70'000);
  fs.reset();
  Reopen();
  expect("main", 1, 1, 70'000);
  expect("snap", 3, 2, 101'000);
  EXPECT_EQ(volume().GetViewStats("nothing").code(), ENOENT);
  ExpectClean();
}

TEST_F(StatisticsTest, AnUnlinkedFileInUseDoesNotCount) {
  Open();
  auto fs = Branch();
  Get(fs->WriteFile("f", Pattern(500)));
  auto file = Get(fs->Open("f", O_RDWR));
  Get(fs->Unlink("f"));
  EXPECT_EQ(Of("main").files, 0u);
  EXPECT_EQ(Of("main").total_size, 0u);
  Get(file->Write(0, Pattern(2000)));
  EXPECT_EQ(Of("main").total_size, 0u);
}

TEST_F(StatisticsTest, StoredBytesAreThoseOfTheRowsAndObjects) {
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    Open();
    auto fs = Branch();
    EXPECT_EQ(Stats().stored_bytes, 0u);
    Get(fs->WriteFile("a", Pattern(1000)));
    EXPECT_EQ(Stats().stored_bytes, 1000u);
    Get(fs->WriteFile("large", Pattern(40 * 4096)));
    EXPECT_EQ(Stats().stored_bytes, 1000u + 40 * 4096);
    Get(fs->WriteFile("a", Pattern(300)));
    EXPECT_EQ(Stats().stored_bytes, 300u + 40 * 4096);
    auto sparse = Get(fs->Open("sparse", O_WRONLY | O_CREAT));
    Get(sparse->Truncate(100 << 20));
    EXPECT_EQ(Stats().stored_bytes, 300u + 40 * 4096) << "holes take nothing";
    Get(fs->Unlink("large"));
    Get(fs->Unlink("a"));
    EXPECT_EQ(Stats().stored_bytes, 0u);
    sparse.reset();
    fs.reset();
    Close();
  }
}

TEST_F(StatisticsTest, SharedBytesAreThoseThatTwoBranchesSee) {
  Open();
  auto fs = Branch();
  Get(fs->WriteFile("a", Pattern(1000)));
  EXPECT_EQ(Stats().shared_bytes, 0u);
  Get(volume().CreateBranch("b", "main"));
  EXPECT_EQ(Stats().shared_bytes, 1000u);
  auto b = Branch("b");
  Get(b->WriteFile("own", Pattern(500)));
  EXPECT_EQ(Stats().shared_bytes, 1000u);
  EXPECT_EQ(Stats().stored_bytes, 1500u);
  b.reset();
  Get(volume().DeleteBranch("b"));
  EXPECT_EQ(Stats().shared_bytes, 0u);
}

TEST_F(StatisticsTest, CountsNodesLayersBranchesAndSnapshots) {
  Open();
  auto fs = Branch();
  const VolumeStats empty = Stats();
  for (int i = 0; i < 10; ++i) Get(fs->WriteFile(std::to_string(i), "x"));
  VolumeStats stats = Stats();
  EXPECT_GE(stats.nodes, empty.nodes + 10);
  EXPECT_LE(stats.nodes, empty.nodes + 11) << "and the root's record";
  EXPECT_EQ(stats.branches, 1u);
  EXPECT_EQ(stats.snapshots, 0u);
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  Get(volume().CreateBranch("b", "snap"));
  stats = Stats();
  EXPECT_EQ(stats.branches, 2u);
  EXPECT_EQ(stats.snapshots, 1u);
  EXPECT_EQ(stats.layers, empty.layers + 2);
  EXPECT_GT(stats.cached_nodes, 10u);
}

TEST_F(StatisticsTest, NothingIsPendingAfterAFlush) {
  Open();
  auto fs = Branch();
  store().FailCommits(EIO);
  (void)fs->WriteFile("f", Pattern(10'000));
  EXPECT_GT(Get(volume().GetStats()).pending_bytes, 0u);
  store().Heal();
  EXPECT_EQ(Stats().pending_bytes, 0u);
}

// ---- budgets

TEST_F(StatisticsTest, WrittenContentLeavesMemoryPastTheBudget) {
  options_.content_cache_bytes = 1 << 20;
  Open(Backing::kSqlite);
  auto fs = Branch();
  for (int i = 0; i < 400; ++i) Get(fs->WriteFile(std::to_string(i), Pattern(50'000, i + 1)));
  // The cache is trimmed after a batch: with the next one, that is done.
  Flush();
  Get(fs->WriteFile("one more", "batch"));
  EXPECT_LE(Stats().memory_bytes, (1u << 20) + 64 * 1024);
  for (int i = 0; i < 400; i += 37) {
    EXPECT_EQ(Get(fs->ReadFile(std::to_string(i))), Pattern(50'000, i + 1));
  }
}

TEST_F(StatisticsTest, ReadContentLeavesMemoryPastTheBudget) {
  options_.content_cache_bytes = 1 << 20;
  Open(Backing::kSqlite);
  auto fs = Branch();
  for (int i = 0; i < 200; ++i) Get(fs->WriteFile(std::to_string(i), Pattern(50'000, i + 1)));
  fs.reset();
  Reopen();
  fs = Branch();
  uint64_t most = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(Get(fs->ReadFile(std::to_string(i))), Pattern(50'000, i + 1));
    most = std::max(most, Get(volume().GetStats()).memory_bytes);
  }
  EXPECT_LE(most, (1u << 20) + 128 * 1024) << "nothing was written, so no commit trims the cache";
}

TEST_F(StatisticsTest, NodesLeaveMemoryPastTheirNumber) {
  options_.cached_nodes = 100;
  Open(Backing::kSqlite);
  auto fs = Branch();
  for (int i = 0; i < 3000; ++i) {
    if (i % 100 == 0) Get(fs->MakeDirectory("d" + std::to_string(i / 100)));
    Get(fs->WriteFile("d" + std::to_string(i / 100) + "/" + std::to_string(i), "x"));
  }
  Flush();
  Get(fs->WriteFile("one more", "batch"));
  EXPECT_LE(Stats().cached_nodes, 300u);
  for (int i = 0; i < 3000; i += 111) {
    EXPECT_EQ(Get(fs->ReadFile("d" + std::to_string(i / 100) + "/" + std::to_string(i))), "x");
  }
}

TEST_F(StatisticsTest, AMemoryStoreSpillsPastItsBudget) {
  memory_budget_ = 1 << 20;
  options_.content_cache_bytes = 1 << 20;
  Open();
  auto fs = Branch();
  for (int i = 0; i < 100; ++i) Get(fs->WriteFile(std::to_string(i), Pattern(60'000, i + 1)));
  const VolumeStats stats = Stats();
  EXPECT_GE(stats.spilled_bytes, 4'000'000u);
  EXPECT_LE(stats.memory_bytes, 3u << 20);
  EXPECT_EQ(stats.stored_bytes, 6'000'000u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Get(fs->ReadFile(std::to_string(i))), Pattern(60'000, i + 1));
  }
}

}  // namespace
}  // namespace agentfs
