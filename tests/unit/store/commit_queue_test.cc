// SPDX-License-Identifier: Apache-2.0
#include "store/commit_queue.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <vector>

namespace agentfs {
namespace {

// Notes the batches that it is given; each waits for `gate` first, if there is one.
class RecordingStore : public Store {
 public:
  Result<std::optional<Row>> Get(TableId, std::string_view) override {
    return std::optional<Row>();
  }
  Result<void> Scan(const ScanRange&, const Visitor&) override { return Ok(); }
  Result<void> Commit(const Batch& batch, Durability) override {
    if (started != nullptr) started->count_down();
    if (gate != nullptr) gate->wait();
    committed.push_back(batch.mutations.front().key);
    if (committed.back() == "bad") return Error(EIO);
    return Ok();
  }
  Result<void> Close() override { return Ok(); }
  StoreCapabilities capabilities() const override { return {}; }
  Result<Usage> GetUsage() override { return Usage{}; }

  std::latch* started = nullptr;
  std::latch* gate = nullptr;
  std::vector<std::string> committed;
};

Batch BatchOf(std::string key) {
  Batch batch;
  batch.Put(0, std::move(key), "");
  return batch;
}

TEST(CommitQueueTest, DestructionDrainsInOrder) {
  RecordingStore store;
  std::vector<std::future<Result<void>>> results;
  std::vector<std::string> expected;
  {
    CommitQueue queue(store);
    for (int i = 0; i < 100; ++i) {
      expected.push_back(std::to_string(i));
      results.push_back(queue.Submit(BatchOf(expected.back()), Durability::kNone));
    }
  }
  EXPECT_EQ(store.committed, expected);
  for (auto& result : results) EXPECT_TRUE(result.get().ok());
}

TEST(CommitQueueTest, AFailedBatchDoesNotStopTheNext) {
  RecordingStore store;
  CommitQueue queue(store);
  auto bad = queue.Submit(BatchOf("bad"), Durability::kSynced);
  auto good = queue.Submit(BatchOf("good"), Durability::kSynced);
  EXPECT_EQ(bad.get().code(), EIO);
  EXPECT_TRUE(good.get().ok());
}

TEST(CommitQueueTest, StopCancelsWhatWaitsAndNotWhatRuns) {
  RecordingStore store;
  std::latch started(1), gate(1);
  store.started = &started;
  store.gate = &gate;
  std::stop_source stop;
  CommitQueue queue(store);
  auto running = queue.Submit(BatchOf("running"), Durability::kNone, stop.get_token());
  started.wait();
  store.started = nullptr;
  auto waiting = queue.Submit(BatchOf("waiting"), Durability::kNone, stop.get_token());
  auto other = queue.Submit(BatchOf("other"), Durability::kNone);
  stop.request_stop();
  gate.count_down();
  EXPECT_TRUE(running.get().ok());
  EXPECT_EQ(waiting.get().code(), ECANCELED);
  EXPECT_TRUE(other.get().ok());
  EXPECT_EQ(store.committed, (std::vector<std::string>{"running", "other"}));
}

}  // namespace
}  // namespace agentfs
