// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/client_follower.h"

#include <gtest/gtest.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "adapters/fuse/transport/client_streak.h"
#include "memory_handler.h"
#include "served_mount.h"

namespace agentfs::fuse::test {
namespace {

constexpr int kLength = ClientStreak::kLength;

// Feeds requests of `thread`, `apart` each; whether one of them completed a streak.
bool Feed(ClientStreak& streak, uint32_t thread, int count, absl::Duration apart, absl::Time& now) {
  bool completed = false;
  for (int i = 0; i < count; ++i) {
    now += apart;
    completed |= streak.Completes({thread, false}, [&] { return now; });
  }
  return completed;
}

TEST(ClientStreakTest, ManyRequestsOfOneThreadInAShortTimeAreOne) {
  ClientStreak streak;
  absl::Time now = absl::UnixEpoch();
  EXPECT_FALSE(Feed(streak, 7, kLength, absl::Microseconds(10), now));
  EXPECT_TRUE(Feed(streak, 7, 1, absl::Microseconds(10), now));
}

TEST(ClientStreakTest, SlowOnesAreNot) {
  ClientStreak streak;
  absl::Time now = absl::UnixEpoch();
  EXPECT_FALSE(Feed(streak, 7, 10 * kLength, ClientStreak::kLongest / 10, now));
}

TEST(ClientStreakTest, ARequestOfAnotherThreadOrOfMuchDataEndsIt) {
  ClientStreak streak;
  absl::Time now = absl::UnixEpoch();
  EXPECT_FALSE(Feed(streak, 7, kLength, absl::Microseconds(10), now));
  EXPECT_FALSE(Feed(streak, 8, 1, absl::Microseconds(10), now));
  EXPECT_FALSE(Feed(streak, 7, kLength, absl::Microseconds(10), now));
  EXPECT_FALSE(streak.Completes({7, true}, [&] { return now; }));
  EXPECT_FALSE(Feed(streak, 7, kLength, absl::Microseconds(10), now));
  EXPECT_FALSE(streak.Completes({0, false}, [&] { return now; }));  // nobody's
  EXPECT_TRUE(Feed(streak, 7, 1, absl::Microseconds(10), now));
}

TEST(ClientShareTest, AFewRequestsOfOthersDoNotMatterMoreDo) {
  ClientShare share(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(share.StillAlone({8, false}));
    for (int own = 0; own < ClientShare::kOther; ++own) EXPECT_TRUE(share.StillAlone({7, false}));
  }
  EXPECT_TRUE(share.StillAlone({0, false}));
  bool alone = true;
  for (int i = 0; i < 10; ++i) alone = share.StillAlone({i % 2 ? 7u : 8u, false});
  EXPECT_FALSE(alone);
}

class ClientFollowerTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam()); !why.empty()) GTEST_SKIP() << why;
    if (!ClientFollower::IsPossible()) {
      GTEST_SKIP() << "takes two processors and the right to leave SCHED_IDLE";
    }
    handler_.Put("quick", "quick");
    handler_.Put("slow", "slow");
    ServedOptions options;
    options.way = GetParam();
    auto served = ServedMount::Start(handler_, options);
    ASSERT_TRUE(served.ok()) << served.error().message();
    served_ = std::move(served).value();
  }

  void Ask() {
    struct stat st;
    EXPECT_EQ(::stat(served_->Path("quick").c_str(), &st), 0);
  }
  // Asks until it is followed; the mount's watchdog ends what does not.
  void AskUntilFollowed() {
    const uint64_t before = served_->transport().statistics().followed;
    while (served_->transport().statistics().followed == before && !HasFailure()) Ask();
  }
  static bool SomeThreadIsIdle() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      if (::sched_getscheduler(std::stoi(task.path().filename())) == SCHED_IDLE) return true;
    }
    return false;
  }

  MemoryHandler handler_;
  std::unique_ptr<ServedMount> served_;
};

TEST_P(ClientFollowerTest, ALoneClientIsFollowedUntilItIsQuiet) {
  AskUntilFollowed();
  while (SomeThreadIsIdle()) std::this_thread::yield();
  AskUntilFollowed();  // and again
}

TEST_P(ClientFollowerTest, TheThreadsDiskPriorityDoesNotFallWithItsPolicy) {
  AskUntilFollowed();
  int kept = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int thread = std::stoi(task.path().filename());
    const bool idle = ::sched_getscheduler(thread) == SCHED_IDLE;
    const long priority = ::syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, thread);
    const bool usual = IOPRIO_PRIO_CLASS(priority) == IOPRIO_CLASS_BE;
    EXPECT_TRUE(usual || !idle);
    if (usual) ++kept;
  }
  EXPECT_GT(kept, 0);
}

TEST_P(ClientFollowerTest, WhoComesWhileTheOneThreadIsHeldUpIsServed) {
  for (int round = 0; round < 3 && !HasFailure(); ++round) {
    AskUntilFollowed();
    handler_.Close("slow");
    std::thread other([this] {
      handler_.AwaitWaiting(1);
      Ask();
      handler_.Open();
    });
    EXPECT_EQ(ReadWhole(served_->Path("slow")).value(), "slow");
    other.join();
  }
}

TEST_P(ClientFollowerTest, TwoClientsAreBothServed) {
  AskUntilFollowed();
  std::atomic<int> asked = 0;
  std::thread other([&] {
    while (asked.load() < 2000) Ask();
  });
  for (; asked.load() < 2000; asked.fetch_add(1)) Ask();
  other.join();
}

TEST_P(ClientFollowerTest, StopsWhileItFollows) {
  AskUntilFollowed();
  served_->transport().Stop();
  EXPECT_FALSE(SomeThreadIsIdle());
}

INSTANTIATE_TEST_SUITE_P(Ways, ClientFollowerTest, testing::Values(Way::kDevice, Way::kUring),
                         [](const auto& way) {
                           return std::string(way.param == Way::kDevice ? "Device" : "Uring");
                         });

}  // namespace
}  // namespace agentfs::fuse::test
