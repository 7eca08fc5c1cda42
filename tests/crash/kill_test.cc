// SPDX-License-Identifier: Apache-2.0
//
// A process that works on a volume is killed at a random moment, again and again, and each time the
// volume must hold a prefix of what was acknowledged, and all that was synced.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <random>

#include "history.h"
#include "victim.h"

namespace agentfs::crash {
namespace {

constexpr int kVolumes = 5;
constexpr int kKillsOfEach = 6;  // 8 setups: 240 kills

class KillTest : public testing::TestWithParam<Setup> {
 protected:
  // One life of a process, then the check. Returns the state to go on from.
  State Round(const Workspace& workspace, State state, uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto interval = static_cast<uint32_t>(1 + random() % 12);
    Victim victim(workspace, seed, interval);
    const std::vector<Report> reports = KillAtRandom(victim, random);
    History history(std::move(state), seed, GetParam().large);
    history.Returned(reports);
    AfterDeath(workspace, reports, history, random);
    auto volume =
        OpenVolume(GetParam(), workspace.state_directory(), workspace.base_directory(), interval);
    if (!volume.ok()) {
      ADD_FAILURE() << volume.error().message();
      return FirstState(workspace.base_tree());
    }
    State next = history.Verify(**volume, history.synced());
    const auto closed = (*volume)->Close();
    EXPECT_TRUE(closed.ok()) << closed.error().message();
    return next;
  }

  static std::vector<Report> KillAtRandom(Victim& victim, std::mt19937_64& random) {
    switch (random() % 4) {
      case 0:
        return victim.KillAfter(std::chrono::microseconds(random() % 60'000));
      default:
        return victim.KillAfterReports(1 + random() % 120);
    }
  }

  // What else happens to the files before they are opened again.
  virtual void AfterDeath(const Workspace&, const std::vector<Report>&, const History&,
                          std::mt19937_64&) {}
};

TEST_P(KillTest, LeavesAPrefixAndAllThatWasSynced) {
  for (uint64_t i = 0; i < kVolumes && !HasFailure(); ++i) {
    Workspace workspace(GetParam());
    State state = FirstState(workspace.base_tree());
    for (uint64_t kill = 0; kill < kKillsOfEach && !HasFailure(); ++kill) {
      const uint64_t seed = FirstSeed() + i * 1000 + kill + 1;
      SCOPED_TRACE("seed " + std::to_string(seed));
      state = Round(workspace, std::move(state), seed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Setups, KillTest, testing::ValuesIn(AllSetups()),
                         [](const auto& info) { return NameOf(info.param); });

// The last write of the log was torn: what SQLite appended since the last sync is cut off or
// garbage.
class TornLogTest : public KillTest {
 protected:
  void AfterDeath(const Workspace& workspace, const std::vector<Report>& reports,
                  const History& history, std::mt19937_64& random) override {
    const std::string log = StoreFile(GetParam(), workspace.state_directory()) + "-wal";
    uint64_t synced = 0;
    for (const Report& report : reports) {
      if (report.operation <= history.synced()) synced = report.log_bytes;
    }
    // Nothing was reported: even the first rows may not have been synced yet.
    if (reports.empty()) return;
    const int fd = ::open(log.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    const auto size = static_cast<uint64_t>(::lseek(fd, 0, SEEK_END));
    if (size > synced) {
      const uint64_t from = synced + random() % (size - synced);
      if (random() % 2 == 0) {
        EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(from)), 0);
      } else {
        const std::string garbage(size - from, static_cast<char>(random()));
        EXPECT_EQ(::pwrite(fd, garbage.data(), garbage.size(), static_cast<off_t>(from)),
                  static_cast<ssize_t>(garbage.size()));
      }
      ++torn_;
    }
    ::close(fd);
  }
  int torn_ = 0;
};

TEST_P(TornLogTest, LeavesAPrefixAndAllThatWasSynced) {
  for (uint64_t i = 0; i < 12 && !HasFailure(); ++i) {
    Workspace workspace(GetParam());
    State state = FirstState(workspace.base_tree());
    for (uint64_t kill = 0; kill < 2 && !HasFailure(); ++kill) {
      const uint64_t seed = FirstSeed() + 500'000 + i * 1000 + kill;
      SCOPED_TRACE("seed " + std::to_string(seed));
      state = Round(workspace, std::move(state), seed);
    }
  }
  EXPECT_GT(torn_, 0) << "nothing was torn: the test tests nothing";
}

INSTANTIATE_TEST_SUITE_P(
    Setups, TornLogTest,
    testing::Values(Setup{StoreKind::kSqlite, Base::kHost, LargeContent::kInObjects},
                    Setup{StoreKind::kSqlite, Base::kNone, LargeContent::kInRows}),
    [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::crash
