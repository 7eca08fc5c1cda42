// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/reader_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace agentfs::fuse::test {
namespace {

constexpr int kMost = ReaderGate::kMostReaders;

void Enter(ReaderGate& gate) {
  gate.Approach();
  gate.Enter();
}

TEST(ReaderGateTest, AFewReadAndOneOfTheRestGoesWhenNoneDoes) {
  ReaderGate gate;
  for (int i = 0; i < kMost; ++i) Enter(gate);
  std::atomic<int> entered = 0;
  std::vector<std::thread> rest;
  for (int i = 0; i < 2; ++i) {
    rest.emplace_back([&] {
      Enter(gate);
      entered.fetch_add(1);
    });
  }
  while (gate.waiting() < 2) std::this_thread::yield();
  for (int i = 0; i < kMost - 1; ++i) gate.Leave();
  EXPECT_EQ(gate.waiting(), 2);
  gate.Leave();  // the last
  while (entered.load() < 1) std::this_thread::yield();
  EXPECT_EQ(gate.waiting(), 1);
  gate.Open();
  for (std::thread& thread : rest) thread.join();
  EXPECT_EQ(entered.load(), 2);
}

// Whoever reads gets a request and may be handling it for long: as long as a thread is left, one
// must be reading.
TEST(ReaderGateTest, SomebodyAlwaysReadsWhileThreadsAreLeft) {
  for (int round = 0; round < 300; ++round) {
    ReaderGate gate;
    constexpr int kThreads = 8;
    std::atomic<int> blocked = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 0; turn < i; ++turn) {
          Enter(gate);
          gate.Leave();
        }
        Enter(gate);
        gate.Leave();
        blocked.fetch_add(1);  // and never enters again
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(blocked.load(), kThreads);
  }
}

TEST(ReaderGateTest, WhoApproachesIsNotBusy) {
  ReaderGate gate;
  Enter(gate);
  gate.Approach();  // another
  EXPECT_FALSE(gate.Leave());
  gate.Enter();
  EXPECT_TRUE(gate.Leave());
}

TEST(ReaderGateTest, WhileItIsNarrowOneReadsAndOneOfTheRestGoesWhenItIsWideAgain) {
  ReaderGate gate;
  Enter(gate);
  gate.Narrow();
  std::atomic<bool> entered = false;
  std::thread other([&] {
    Enter(gate);
    entered = true;
  });
  while (gate.waiting() < 1) std::this_thread::yield();
  EXPECT_FALSE(entered.load());
  EXPECT_TRUE(gate.Widen());
  other.join();
  EXPECT_TRUE(entered.load());
  EXPECT_FALSE(gate.Leave());
  EXPECT_FALSE(gate.Widen());  // nobody waits
}

}  // namespace
}  // namespace agentfs::fuse::test
