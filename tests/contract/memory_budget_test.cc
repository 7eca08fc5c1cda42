// SPDX-License-Identifier: Apache-2.0
//
// The memory store's budget: blobs past it are on disk, and nothing is lost or leaked.
#include <filesystem>
#include <string>

#include "tests/contract/child.h"
#include "tests/contract/store_rig.h"

namespace agentfs::test {
namespace {

constexpr uint64_t kBudget = 1 << 20;
constexpr uint64_t kBlobSize = 50000;

class MemoryBudgetTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = OpenMemoryStore(TestSchema(), {kBudget, directory_.path()});
    ASSERT_TRUE(store.ok());
    store_ = std::move(store).value();
  }
  static std::string BytesOf(uint64_t id) {
    return std::string(kBlobSize, static_cast<char>('a' + id % 26));
  }
  static Batch BlobsBatch(uint64_t first, uint64_t count) {
    Batch batch;
    for (uint64_t i = first; i < first + count; ++i) {
      batch.Put(kBlobs, KeyInt(i), "", Buffer::Copy(BytesOf(i)));
    }
    return batch;
  }
  Store::Usage Usage() { return *store_->GetUsage(); }

  TempDirectory directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(MemoryBudgetTest, BlobsPastTheBudgetAreSpilledAndReadBack) {
  constexpr uint64_t kCount = 100;
  ASSERT_TRUE(store_->Commit(BlobsBatch(0, kCount), Durability::kNone).ok());
  const auto usage = Usage();
  const uint64_t in_memory = kBudget / kBlobSize;
  EXPECT_EQ(usage.memory_bytes, in_memory * kBlobSize + kCount * 8);
  EXPECT_EQ(usage.spilled_bytes, (kCount - in_memory) * kBlobSize);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << "the spill file has no name";
  for (uint64_t i = 0; i < kCount; ++i) {
    const auto row = store_->Get(kBlobs, KeyInt(i));
    ASSERT_TRUE(row.ok() && row->has_value());
    EXPECT_EQ((*row)->blob.view(), BytesOf(i)) << i;
  }
  uint64_t next = 0;
  ASSERT_TRUE(store_
                  ->Scan({.table = kBlobs},
                         [&](const RowView& row) {
                           EXPECT_EQ(row.blob, BytesOf(next)) << next;
                           EXPECT_EQ(row.TakeBlob().view(), BytesOf(next));
                           ++next;
                           return Visit::kContinue;
                         })
                  .ok());
  EXPECT_EQ(next, kCount);
}

TEST_F(MemoryBudgetTest, DeletingAndReplacingGivesTheSpaceBack) {
  ASSERT_TRUE(store_->Commit(BlobsBatch(0, 100), Durability::kNone).ok());
  const auto full = Usage();
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(store_->Commit(BlobsBatch(0, 100), Durability::kNone).ok());
    const auto usage = Usage();
    EXPECT_EQ(usage.memory_bytes + usage.spilled_bytes, full.memory_bytes + full.spilled_bytes);
    EXPECT_LE(usage.memory_bytes, kBudget + 100 * 8);
  }
  Batch deletes;
  for (uint64_t i = 0; i < 100; ++i) deletes.Delete(kBlobs, KeyInt(i));
  ASSERT_TRUE(store_->Commit(deletes, Durability::kNone).ok());
  EXPECT_EQ(Usage().memory_bytes, 0u);
  EXPECT_EQ(Usage().spilled_bytes, 0u);
}

TEST_F(MemoryBudgetTest, AFailedSpillChangesNothing) {
  auto store = OpenMemoryStore(TestSchema(), {kBudget, directory_.path() + "/missing"});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Commit(BlobsBatch(0, 10), Durability::kNone).ok());
  EXPECT_EQ((*store)->Commit(BlobsBatch(5, 50), Durability::kNone).code(), ENOENT);
  EXPECT_EQ(KeysOf(**store, {.table = kBlobs}).size(), 10u);
  EXPECT_EQ((*store)->GetUsage()->memory_bytes, 10 * (kBlobSize + 8));
  ASSERT_TRUE((*store)->Commit(BlobsBatch(10, 5), Durability::kNone).ok());
}

TEST_F(MemoryBudgetTest, AFullDiskFailsTheCommitAndKeepsTheRest) {
  const std::string mount = directory_.path() + "/mount";
  ASSERT_TRUE(std::filesystem::create_directory(mount));
  const std::string problem = RunInChild([&]() -> std::string {
    if (!MountTmpfs(mount, 1024)) return kCannotMount;
    auto store = OpenMemoryStore(TestSchema(), {kBudget, mount});
    if (!(*store)->Commit(BlobsBatch(0, 20), Durability::kNone).ok()) return "first commit";
    if ((*store)->Commit(BlobsBatch(10, 50), Durability::kNone).code() != ENOSPC) return "ENOSPC";
    if (KeysOf(**store, {.table = kBlobs}).size() != 20) return "rows of the failed batch";
    if ((*store)->GetUsage()->spilled_bytes != 0) return "spilled bytes leaked";
    if (!(*store)->Commit(BlobsBatch(20, 15), Durability::kNone).ok()) return "space leaked";
    return "";
  });
  if (problem == kCannotMount) GTEST_SKIP() << "mounting needs root";
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace agentfs::test
