// SPDX-License-Identifier: Apache-2.0
#include "store/faulty_store.h"

#include <gtest/gtest.h>

#include "agentfs/stores.h"
#include "store/codec.h"

namespace agentfs {
namespace {

constexpr Column kKey[] = {{"id", ColumnType::kInt}};
constexpr Column kValue[] = {{"number", ColumnType::kInt}};
constexpr Table kTables[] = {{"rows", kKey, kValue, "", ""}};
constexpr Schema kSchema = {kTables, 1};

class FaultyStoreTest : public testing::Test {
 protected:
  FaultyStoreTest() : store_(OpenMemoryStore(kSchema).value()) {}
  Result<void> PutRow(uint64_t id, Durability durability = Durability::kNone) {
    Batch batch;
    batch.Put(0, KeyInt(id), ValueWriter().Int(1).Take());
    return store_.Commit(batch, durability);
  }
  bool Has(uint64_t id) {
    const auto row = store_.Get(0, KeyInt(id));
    return row.ok() && row->has_value();
  }
  FaultyStore store_;
};

TEST_F(FaultyStoreTest, TheNthCommitFailsOnceAndAppliesNothing) {
  store_.FailCommit(2, ENOSPC);
  EXPECT_TRUE(PutRow(1).ok());
  EXPECT_EQ(PutRow(2, Durability::kSynced).code(), ENOSPC);
  EXPECT_TRUE(PutRow(3).ok());
  EXPECT_TRUE(Has(1));
  EXPECT_FALSE(Has(2));
  EXPECT_TRUE(Has(3));
  const auto calls = store_.calls();
  EXPECT_EQ(calls.commits, 3u);
  EXPECT_EQ(calls.synced_commits, 1u);
  EXPECT_EQ(calls.failed_commits, 1u);
  EXPECT_EQ(calls.gets, 3u);
}

TEST_F(FaultyStoreTest, AllCommitsFailUntilHealed) {
  store_.FailCommits(EIO);
  EXPECT_EQ(PutRow(1).code(), EIO);
  EXPECT_EQ(PutRow(2).code(), EIO);
  store_.Heal();
  EXPECT_TRUE(PutRow(3).ok());
  EXPECT_FALSE(Has(1) || Has(2));
  EXPECT_TRUE(Has(3));
}

TEST_F(FaultyStoreTest, ReadsFailUntilHealed) {
  ASSERT_TRUE(PutRow(1).ok());
  store_.FailReads(EIO);
  EXPECT_EQ(store_.Get(0, KeyInt(1)).code(), EIO);
  EXPECT_EQ(store_.Scan({}, [](const RowView&) { return Visit::kStop; }).code(), EIO);
  store_.Heal();
  EXPECT_TRUE(Has(1));
}

}  // namespace
}  // namespace agentfs
