// SPDX-License-Identifier: Apache-2.0
//
// Readers during commits, and commits in the background.
#include <atomic>
#include <future>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "store/commit_queue.h"
#include "tests/contract/store_rig.h"

namespace agentfs::test {
namespace {

class StoreConcurrencyTest : public StoreTest {};

// Each batch gives every row the same number: a scan that sees two numbers saw two states.
TEST_P(StoreConcurrencyTest, AScanSeesOneStateThroughout) {
  constexpr uint64_t kRows = 200;
  constexpr int64_t kRounds = 60;
  const auto put_all = [&](int64_t number) {
    Batch batch;
    for (uint64_t i = 0; i < kRows; ++i) {
      batch.Put(kPairs, PairKey(i, i % 3), PairValue(number));
      batch.Put(kBlobs, KeyInt(i), Number(number), Buffer::Copy(std::string(300, 'x')));
    }
    return batch;
  };
  Commit(put_all(0));
  std::atomic<bool> done{false};
  std::atomic<int64_t> acknowledged{0};
  std::atomic<uint64_t> scans{0};
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 3; ++thread) {
    readers.emplace_back([&, thread] {
      do {
        const int64_t at_least = acknowledged;
        std::set<int64_t> numbers;
        uint64_t rows = 0;
        const ScanRange range{.table = thread == 0 ? kBlobs : kPairs, .by_index = thread == 1};
        const auto result = store_->Scan(range, [&](const RowView& row) {
          numbers.insert(NumberIn(row.value));
          ++rows;
          return Visit::kContinue;
        });
        ASSERT_TRUE(result.ok()) << result.error().message();
        ASSERT_EQ(numbers.size(), 1u);
        ASSERT_EQ(rows, kRows);
        ASSERT_GE(*numbers.begin(), at_least);
        ASSERT_GE(NumberAt(*store_, kPairs, PairKey(0, 0)), at_least);
        ++scans;
      } while (!done);
    });
  }
  for (int64_t round = 1; round <= kRounds; ++round) {
    Commit(put_all(round));
    acknowledged = round;
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GE(scans.load(), 3u);
}

TEST_P(StoreConcurrencyTest, CommitsOfSeveralThreadsAreAllApplied) {
  constexpr uint64_t kThreads = 4, kBatches = 20;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < kBatches; ++i) {
        Batch batch;
        batch.Put(kPairs, PairKey(thread, i), PairValue(1));
        ASSERT_TRUE(store_->Commit(batch, Durability::kNone).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs}).size(), kThreads * kBatches);
}

TEST_P(StoreConcurrencyTest, CloseWaitsForCallsInProgress) {
  Batch batch;
  for (uint64_t i = 0; i < 500; ++i) batch.Put(kPairs, PairKey(i, i), PairValue(1));
  Commit(batch);
  std::promise<void> started;
  std::thread reader([&] {
    bool first = true;
    uint64_t rows = 0;
    const auto result = store_->Scan({.table = kPairs}, [&](const RowView&) {
      if (std::exchange(first, false)) started.set_value();
      ++rows;
      return Visit::kContinue;
    });
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(rows, 500u);
  });
  started.get_future().wait();
  EXPECT_TRUE(store_->Close().ok());
  reader.join();
}

TEST_P(StoreConcurrencyTest, QueuedBatchesCommitInOrder) {
  std::vector<std::future<Result<void>>> results;
  {
    CommitQueue queue(*store_);
    for (int64_t i = 0; i < 50; ++i) {
      Batch batch;
      batch.Put(kPairs, PairKey(1, 1), PairValue(i));
      batch.Put(kPairs, PairKey(2, static_cast<uint64_t>(i)), PairValue(i));
      results.push_back(queue.Submit(std::move(batch), Durability::kNone));
    }
  }
  for (auto& result : results) EXPECT_TRUE(result.get().ok());
  EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(1, 1)), 49);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs}).size(), 51u);
}

TEST_P(StoreConcurrencyTest, ACancelledBatchIsNotApplied) {
  std::stop_source stop;
  stop.request_stop();
  CommitQueue queue(*store_);
  Batch batch;
  batch.Put(kPairs, PairKey(1, 1), PairValue(1));
  auto cancelled = queue.Submit(std::move(batch), Durability::kSynced, stop.get_token());
  auto kept = queue.Submit(Batch(), Durability::kSynced, std::stop_source().get_token());
  EXPECT_EQ(cancelled.get().code(), ECANCELED);
  EXPECT_TRUE(kept.get().ok());
  EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(1, 1)), -1);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreConcurrencyTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kSqlite, StoreKind::kLmdb),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::test
