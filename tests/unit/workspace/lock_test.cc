// SPDX-License-Identifier: Apache-2.0
#include "workspace/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "scratch.h"

namespace agentfs {
namespace {

using After = WorkspaceLock::After;

TEST(WorkspaceLockTest, ASecondHolderIsRefusedWithTheFirstOnesPid) {
  Scratch host;
  auto first = WorkspaceLock::Acquire(host / "lock", 0, After::kKeepFile);
  ASSERT_TRUE(first.ok());
  auto second = WorkspaceLock::Acquire(host / "lock", 20, After::kKeepFile);
  EXPECT_EQ(second.code(), EBUSY);
  EXPECT_THAT(second.error().message(), testing::HasSubstr(std::to_string(::getpid())));
  EXPECT_NE(second.error().remedy(), "");
}

TEST(WorkspaceLockTest, IsFreeAgainAfterItsHolder) {
  Scratch host;
  {
    auto first = WorkspaceLock::Acquire(host / "lock", 0, After::kKeepFile);
    ASSERT_TRUE(first.ok());
  }
  EXPECT_TRUE(std::filesystem::exists(host / "lock"));
  {
    auto second = WorkspaceLock::Acquire(host / "lock", 0, After::kRemoveFile);
    ASSERT_TRUE(second.ok());
  }
  EXPECT_FALSE(std::filesystem::exists(host / "lock"));
}

TEST(WorkspaceLockTest, AKilledHolderLeavesItFree) {
  Scratch host;
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto lock = WorkspaceLock::Acquire(host / "lock", 0, After::kKeepFile);
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(WorkspaceLock::Acquire(host / "lock", 0, After::kKeepFile).ok());
}

// Also while each holder removes the file that the others wait on.
TEST(WorkspaceLockTest, WaitersGetItOneAfterTheOther) {
  Scratch host;
  std::atomic<int> inside = 0, overlaps = 0, failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        auto lock = WorkspaceLock::Acquire(host / "lock", 60'000, After::kRemoveFile);
        if (!lock.ok()) {
          ++failures;
          continue;
        }
        if (++inside != 1) ++overlaps;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(failures, 0);
}

TEST(WorkspaceLockTest, NamesTheFileThatCannotBeMade) {
  Scratch host;
  auto lock = WorkspaceLock::Acquire(host / "absent/lock", 0, After::kKeepFile);
  EXPECT_EQ(lock.code(), ENOENT);
  EXPECT_THAT(lock.error().message(), testing::HasSubstr("absent/lock"));
}

}  // namespace
}  // namespace agentfs
