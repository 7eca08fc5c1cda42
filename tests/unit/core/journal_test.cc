// SPDX-License-Identifier: Apache-2.0
#include "core/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "agentfs/stores.h"
#include "core/records.h"
#include "store/faulty_store.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// Remembers the batches, and can hold them up.
class SlowStore : public FaultyStore {
 public:
  struct Seen {
    std::vector<std::string> keys;
    Durability durability;
  };
  using FaultyStore::FaultyStore;

  Result<void> Commit(const Batch& batch, Durability durability) override {
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(
          +[](bool* held) { return !*held; }, &held_));
    }
    if (out_of_memory.exchange(false)) throw std::bad_alloc();
    AGENTFS_TRY(FaultyStore::Commit(batch, durability));
    Seen seen{{}, durability};
    for (const Mutation& mutation : batch.mutations) seen.keys.emplace_back(mutation.key);
    absl::MutexLock lock(&mu_);
    seen_.push_back(std::move(seen));
    return Ok();
  }
  void Hold(bool held) {
    absl::MutexLock lock(&mu_);
    held_ = held;
  }
  StoreCapabilities capabilities() const override {
    StoreCapabilities capabilities = FaultyStore::capabilities();
    capabilities.durable |= durable;
    return capabilities;
  }
  std::atomic<bool> durable{false};
  std::atomic<bool> out_of_memory{false};  // the next commit is
  std::vector<Seen> seen() {
    absl::MutexLock lock(&mu_);
    return seen_;
  }

 private:
  absl::Mutex mu_;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Seen> seen_ ABSL_GUARDED_BY(mu_);
};

class CountingObject : public BlobObject {
 public:
  Result<void> Read(uint64_t, std::span<char>) override { return Ok(); }
  Result<void> Write(uint64_t, std::span<const char>) override { return Ok(); }
  Result<void> Punch(uint64_t, uint64_t) override { return Ok(); }
  Result<bool> CloneRange(int, uint64_t, uint64_t, uint64_t) override { return false; }
  Result<void> Sync() override {
    ++syncs;
    if (error != 0) return Error(error);
    return Ok();
  }
  Result<uint64_t> StoredBytes() override { return uint64_t{0}; }
  std::atomic<int> syncs{0};
  std::atomic<int> error{0};
};

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { Start({}); }
  void Start(Journal::Options options, Journal::Hooks hooks = NoHooks()) {
    journal_.reset();
    store_ = std::make_unique<SlowStore>(OpenMemoryStore(VolumeSchema()).value());
    journal_ = std::make_unique<Journal>(*store_, options, std::move(hooks));
  }
  static Journal::Hooks NoHooks() {
    Journal::Hooks hooks;
    hooks.before_seal = hooks.at_seal = hooks.after_commit = [] {};
    return hooks;
  }
  void Put(const std::string& name, int64_t value) {
    Journal::Change change(*journal_);
    change.Put(tables::kMeta, NameKey(name), EncodeInt(value));
  }
  // The committed value; -1: none.
  int64_t Value(const std::string& name) {
    auto row = store_->Get(tables::kMeta, NameKey(name)).value();
    int64_t value = -1;
    if (row) {
      EXPECT_TRUE(DecodeInt(row->value, &value));
    }
    return value;
  }
  // All rows in the order in which they were committed.
  std::vector<std::string> Committed() {
    std::vector<std::string> keys;
    for (const auto& batch : store_->seen()) {
      keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
    }
    return keys;
  }

  std::unique_ptr<SlowStore> store_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(JournalTest, WithoutMemoryTheCommitFailsAndIsTriedAgain) {
  store_->out_of_memory = true;
  Put("a", 1);
  EXPECT_EQ(journal_->Flush(Durability::kSynced).code(), ENOMEM);
  EXPECT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(Value("a"), 1);
}

TEST_F(JournalTest, WithoutMemoryToCutABatchNothingIsLost) {
  Journal::Hooks hooks = NoHooks();
  std::atomic<bool> fail{true};
  hooks.before_seal = [&] {
    if (fail.exchange(false)) throw std::bad_alloc();
  };
  Start({}, hooks);
  Put("a", 1);
  EXPECT_EQ(journal_->Flush(Durability::kSynced).code(), ENOMEM);
  EXPECT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(Value("a"), 1);
  journal_.reset();  // before what its hooks use
}

TEST_F(JournalTest, CommitsInTheOrderOfTheChanges) {
  std::vector<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    Put("n" + std::to_string(i), i);
    expected.emplace_back(NameKey("n" + std::to_string(i)));
    if (i % 100 == 0) {
      ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
    }
  }
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(Committed(), expected);
  EXPECT_GE(store_->seen().size(), 20u);
}

TEST_F(JournalTest, OfTwoChangesOfOneRowTheLaterWins) {
  for (int i = 0; i < 500; ++i) {
    Put("same", i);
    if (i % 7 == 0) {
      ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
    }
  }
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(Value("same"), 499);
}

TEST_F(JournalTest, CommitsWithoutBeingAsked) {
  Start({uint64_t{64} << 20, 1});
  absl::Notification committed;
  {
    Journal::Change change(*journal_);
    change.Put(tables::kMeta, NameKey("a"), EncodeInt(1));
    change.AfterCommit([&] { committed.Notify(); });
  }
  ASSERT_TRUE(committed.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_EQ(Value("a"), 1);
}

TEST_F(JournalTest, ManyChangesMakeOneBatch) {
  store_->Hold(true);
  Put("first", 0);
  for (int i = 0; i < 1000; ++i) Put("n" + std::to_string(i), i);
  store_->Hold(false);
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_LE(store_->seen().size(), 3u);
  EXPECT_EQ(Committed().size(), 1001u);
}

// Each change puts two rows; no batch may have one of them only.
TEST_F(JournalTest, WhatOneChangeAppendsIsCommittedTogether) {
  Start({uint64_t{64} << 20, 1});
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const std::string name = std::to_string(t) + "." + std::to_string(i);
        Journal::Change change(*journal_);
        change.Put(tables::kMeta, NameKey("a" + name), EncodeInt(i));
        change.Put(tables::kMeta, NameKey("b" + name), EncodeInt(i));
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(journal_->Flush(Durability::kNone).ok());
  for (std::thread& writer : writers) writer.join();
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(Committed().size(), 4000u);
  for (const auto& batch : store_->seen()) {
    const auto firsts = std::count_if(batch.keys.begin(), batch.keys.end(),
                                      [](const std::string& key) { return key[0] == 'a'; });
    EXPECT_EQ(static_cast<size_t>(firsts) * 2, batch.keys.size());
  }
}

TEST_F(JournalTest, ASyncedFlushIsASyncedCommit) {
  Put("a", 1);
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  const uint64_t before = store_->calls().synced_commits;
  ASSERT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_GT(store_->calls().synced_commits, before) << "what was committed is not yet durable";
  Put("b", 2);
  ASSERT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(store_->seen().back().durability, Durability::kSynced);
  EXPECT_EQ(Value("b"), 2);
}

TEST_F(JournalTest, ASyncOfChangesDoesNotWaitForTheVolumesOwn) {
  Put("user", 1);
  ASSERT_TRUE(journal_->SyncChanges().ok());
  EXPECT_EQ(Value("user"), 1);
  store_->Hold(true);
  {
    Journal::Change change(*journal_, ChangeOf::kVolume);
    change.Put(tables::kMeta, NameKey("own"), EncodeInt(2));
  }
  EXPECT_TRUE(journal_->SyncChanges().ok());  // it would wait for ever
  EXPECT_EQ(Value("own"), -1);
  store_->Hold(false);
  Put("user", 3);
  ASSERT_TRUE(journal_->SyncChanges().ok());
  EXPECT_EQ(Value("user"), 3);
  EXPECT_EQ(Value("own"), 2);
  EXPECT_EQ(store_->seen().back().durability, Durability::kSynced);
}

TEST_F(JournalTest, ObjectsAreSyncedBeforeTheRowsThatNameThem) {
  auto object = std::make_shared<CountingObject>();
  const auto write = [&] {
    Journal::Change change(*journal_);
    change.Put(tables::kMeta, NameKey("o"), EncodeInt(1));
    change.ObjectWritten(object, Pages::kMapped);
  };
  write();
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(object->syncs, 0) << "nobody asked";
  ASSERT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(object->syncs, 1);
  ASSERT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(object->syncs, 1) << "nothing was written since";
  write();
  object->error = EIO;
  const size_t commits = store_->seen().size();
  EXPECT_EQ(journal_->Flush(Durability::kSynced).code(), EIO);
  EXPECT_EQ(store_->seen().size(), commits) << "the rows must not be there before the content";
  object->error = 0;
  ASSERT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(object->syncs, 3);
}

TEST_F(JournalTest, OnADurableStoreNoRowIsCommittedBeforeThePagesThatItMaps) {
  store_->durable = true;
  auto object = std::make_shared<CountingObject>();
  const auto write = [&](Pages pages) {
    Journal::Change change(*journal_);
    change.Put(tables::kMeta, NameKey("o"), EncodeInt(1));
    change.ObjectWritten(object, pages);
  };
  write(Pages::kMapped);
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(object->syncs, 1);
  EXPECT_EQ(store_->seen().back().durability, Durability::kNone) << "only the object needs it";
  write(Pages::kOverwritten);
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(object->syncs, 1) << "older rows map these pages";
  ASSERT_TRUE(journal_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(object->syncs, 2);
  write(Pages::kMapped);
  object->error = EIO;
  const size_t commits = store_->seen().size();
  EXPECT_EQ(journal_->Flush(Durability::kNone).code(), EIO);
  EXPECT_EQ(store_->seen().size(), commits);
  object->error = 0;
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_GT(store_->seen().size(), commits);
}

TEST_F(JournalTest, WhatDestroysContentWaitsForItsBatchToBeSynced) {
  Durability when_run = Durability::kNone;
  {
    Journal::Change change(*journal_);
    change.Put(tables::kMeta, NameKey("a"), EncodeInt(1));
    change.AfterSync([&] { when_run = store_->seen().back().durability; });
  }
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(when_run, Durability::kSynced);
  Put("b", 1);
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(store_->seen().back().durability, Durability::kNone) << "that batch alone";
}

TEST_F(JournalTest, AFailureLosesNothingAndIsToldUntilItIsOver) {
  for (const int error : {EIO, ENOSPC}) {
    store_->FailCommits(error);
    Put("a", 1);
    EXPECT_EQ(journal_->Flush(Durability::kSynced).code(), error);
    EXPECT_EQ(journal_->Flush(Durability::kNone).code(), error);
    EXPECT_EQ(journal_->Admit(Growth::kGrows).code(), error);
    EXPECT_TRUE(journal_->Admit(Growth::kFrees).ok());
    Put("a", 2);  // let in before: it must not be lost, and not overtake
    Put("b", 3);
    EXPECT_GT(journal_->pending_bytes(), 0u);
    store_->Heal();
    ASSERT_TRUE(journal_->Flush(Durability::kSynced).ok());
    EXPECT_EQ(Value("a"), 2);
    EXPECT_EQ(Value("b"), 3);
    EXPECT_TRUE(journal_->Admit(Growth::kGrows).ok());
    EXPECT_EQ(journal_->pending_bytes(), 0u);
  }
}

TEST_F(JournalTest, RecoversByItself) {
  store_->FailCommit(1, EIO);
  absl::Notification committed;
  {
    Journal::Change change(*journal_);
    change.Put(tables::kMeta, NameKey("a"), EncodeInt(1));
    change.AfterCommit([&] { committed.Notify(); });
  }
  EXPECT_TRUE(committed.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_EQ(Value("a"), 1);
  EXPECT_EQ(store_->calls().failed_commits, 1u);
}

TEST_F(JournalTest, WritersWaitWhileTooMuchIsPending) {
  Start({64 * 1024, 1});
  store_->Hold(true);
  while (journal_->pending_bytes() <= 64 * 1024) Put("x" + std::string(200, 'x'), 1);
  std::atomic<bool> admitted{false};
  std::thread writer([&] {
    EXPECT_TRUE(journal_->Admit(Growth::kGrows).ok());
    EXPECT_LE(journal_->pending_bytes(), 64u * 1024);
    admitted = true;
  });
  EXPECT_FALSE(admitted) << "nothing was committed, so nobody can have been let in";
  store_->Hold(false);
  writer.join();
  EXPECT_TRUE(admitted);
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(journal_->pending_bytes(), 0u);
}

TEST_F(JournalTest, AWaitingWriterLearnsOfAFailure) {
  Start({64 * 1024, 1});
  store_->Hold(true);
  while (journal_->pending_bytes() <= 64 * 1024) Put("x" + std::string(200, 'x'), 1);
  store_->FailCommits(ENOSPC);
  std::thread writer([&] { EXPECT_EQ(journal_->Admit(Growth::kGrows).code(), ENOSPC); });
  store_->Hold(false);
  writer.join();
  EXPECT_TRUE(journal_->Admit(Growth::kFrees).ok()) << "who frees space need not wait";
  store_->Heal();
}

TEST_F(JournalTest, WhileCommitsFailBatchesAreCutAllTheSame) {
  constexpr int kRounds = 4;
  Start({64 * 1024, 1});
  store_->FailCommits(ENOSPC);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t before = journal_->pending_bytes();
    while (journal_->pending_bytes() <= before + 20 * 1024) Put("x" + std::string(200, 'x'), round);
    EXPECT_EQ(journal_->Flush(Durability::kNone).code(), ENOSPC);
  }
  store_->Heal();
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_GE(store_->seen().size(), size_t{kRounds});
  EXPECT_EQ(Value("x" + std::string(200, 'x')), kRounds - 1);
}

TEST_F(JournalTest, ExclusiveShutsOutEveryChange) {
  std::atomic<int> inside{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&] {
      while (!stop) {
        Journal::Change change(*journal_);
        ++inside;
        change.Put(tables::kMeta, NameKey("c"), EncodeInt(1));
        --inside;
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    Journal::Exclusive exclusive(*journal_);
    EXPECT_EQ(inside, 0);
    const uint64_t batch = exclusive.batch();
    exclusive.Put(tables::kMeta, NameKey("e"), EncodeInt(i));
    EXPECT_EQ(exclusive.batch(), batch) << "no batch is cut meanwhile";
    EXPECT_EQ(inside, 0);
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_EQ(Value("e"), 299);
}

TEST_F(JournalTest, WorkAfterACommitIsDoneBeforeFlushReturns) {
  bool done = false;
  bool was_committed = false;
  {
    Journal::Change change(*journal_);
    change.Put(tables::kMeta, NameKey("a"), EncodeInt(1));
    change.AfterCommit([&] {
      was_committed = Value("a") == 1;
      done = true;
    });
  }
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  EXPECT_TRUE(done);
  EXPECT_TRUE(was_committed);
}

TEST_F(JournalTest, HooksAddToTheBatchBeingCut) {
  std::atomic<int> rounds{0};
  Journal::Hooks hooks = NoHooks();
  hooks.before_seal = [&] {
    if (rounds++ == 0) Put("before", 1);
  };
  hooks.at_seal = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (rounds == 1) journal_->PutAtSeal(tables::kMeta, NameKey("at"), EncodeInt(2));
  };
  Start({}, hooks);
  Put("a", 1);
  ASSERT_TRUE(journal_->Flush(Durability::kNone).ok());
  ASSERT_EQ(store_->seen().size(), 1u);
  EXPECT_EQ(store_->seen()[0].keys.size(), 3u);
  EXPECT_EQ(Value("before"), 1);
  EXPECT_EQ(Value("at"), 2);
  ASSERT_TRUE(journal_->Close().ok());  // the hooks are used until then
}

TEST_F(JournalTest, KnowsWhatIsCommitted) {
  EXPECT_TRUE(journal_->IsCommitted(0));
  Put("a", 1);
  const uint64_t batch = journal_->AppendedBatch();
  ASSERT_TRUE(journal_->WaitCommitted(batch).ok());
  EXPECT_TRUE(journal_->IsCommitted(batch));
  EXPECT_EQ(Value("a"), 1);
}

TEST_F(JournalTest, ClosingCommitsWhatIsPendingAndSyncs) {
  Start({uint64_t{64} << 20, 60'000});
  Put("a", 1);
  ASSERT_TRUE(journal_->Close().ok());
  EXPECT_EQ(Value("a"), 1);
  EXPECT_GE(store_->calls().synced_commits, 1u);
  EXPECT_TRUE(journal_->Close().ok()) << "twice is fine";
}

TEST_F(JournalTest, ClosingTellsWhatCouldNotBeCommitted) {
  Put("a", 1);
  store_->FailCommits(ENOSPC);
  EXPECT_EQ(journal_->Close().code(), ENOSPC);
}

TEST_F(JournalTest, FlushesOfManyThreadsAllReturn) {
  Start({uint64_t{64} << 20, 60'000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = std::to_string(t);
        Put(name, i);
        EXPECT_TRUE(journal_->Flush(i % 2 ? Durability::kSynced : Durability::kNone).ok());
        EXPECT_EQ(Value(name), i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace agentfs
