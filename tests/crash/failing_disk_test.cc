// SPDX-License-Identifier: Apache-2.0
//
// A disk that fails and recovers: what fails says so, what was acknowledged is not lost while the
// process lives, and everything is committed once the disk is well again.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>

#include "history.h"
#include "store/faulty_store.h"
#include "view_subject.h"

namespace agentfs::crash {
namespace {

constexpr uint32_t kOperations = 120;

class FailingDiskTest : public testing::TestWithParam<Setup> {
 protected:
  FailingDiskTest() : workspace_(GetParam()) {}

  void Open() {
    auto volume = OpenVolume(GetParam(), workspace_.state_directory(), workspace_.base_directory(),
                             2, [&](std::unique_ptr<Store> store) {
                               auto faulty = std::make_unique<FaultyStore>(std::move(store));
                               disk_ = faulty.get();
                               return faulty;
                             });
    ASSERT_TRUE(volume.ok()) << volume.error().message();
    volume_ = std::move(*volume);
  }
  // Lets the process end without committing anything more.
  void Crash() {
    disk_->FailCommits(EIO);
    volume_.reset();
  }

  void ExpectState(const State& state) {
    const Match match = FindState({{state}, 0, 0}, Look(*volume_).value());
    EXPECT_TRUE(match.state) << match.differences;
  }

  // Performs operations while the disk fails now and then. Returns what there should be.
  State Work(uint64_t seed, int error) {
    std::mt19937_64 random(seed);
    State state = Look(*volume_).value();
    state.base = workspace_.base_tree();
    state.next_inode = uint64_t{1} << 63;  // unlike any that is there
    Worker worker(*volume_);
    for (uint32_t i = 1; i <= kOperations && !HasFailure(); ++i) {
      if (random() % 10 == 0) disk_->FailCommit(1 + random() % 2, error);
      if (random() % 25 == 0) disk_->FailCommits(error);
      if (random() % 15 == 0) disk_->Heal();
      const Operation operation = MakeOperation(FirstSeed() + 700'000 + seed, i);
      State next = state;
      const int expected = Apply(operation, GetParam().large, &next);
      const int code = worker.Perform(operation);
      if (code != expected) {
        EXPECT_EQ(code, error) << ToString(operation) << ", expected " << expected;
        EXPECT_GT(disk_->calls().failed_commits, 0u) << "the disk was well all the time";
        if (!HasHappened(operation, state, next)) continue;
      }
      if (expected == 0) state = std::move(next);
    }
    return state;
  }

  // An operation gave the disk's error: only what was to reach the disk may have been done.
  bool HasHappened(const Operation& operation, const State& before, const State& after) {
    disk_->Heal();
    EXPECT_TRUE(volume_->Flush(Durability::kNone).ok());
    const Match match = FindState({{before, after}, 0, 1}, Look(*volume_).value());
    EXPECT_TRUE(match.state) << ToString(operation) << match.differences;
    const bool happened = match.state == size_t{1};
    EXPECT_TRUE(!happened || operation.IsSync()) << ToString(operation);
    return happened;
  }

  Workspace workspace_;
  FaultyStore* disk_ = nullptr;
  std::unique_ptr<Volume> volume_;
};

TEST_P(FailingDiskTest, LosesNothingWhileItLives) {
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Open();
    ASSERT_FALSE(HasFatalFailure());
    State state = Work(seed, seed % 2 == 0 ? EIO : ENOSPC);
    disk_->Heal();
    const auto flushed = volume_->Flush(Durability::kSynced);
    ASSERT_TRUE(flushed.ok()) << flushed.error().message();
    ExpectState(state);
    Crash();
    Open();
    ASSERT_FALSE(HasFatalFailure());
    const FsckReport report = volume_->Check(false).value();
    for (const FsckProblem& problem : report.problems) {
      ADD_FAILURE() << "fsck: " << problem.what;
    }
    ExpectState(state);
    volume_.reset();
  }
}

TEST_P(FailingDiskTest, ASyncThatFailsSaysSoAndTheNextOneMakesItGood) {
  Open();
  ASSERT_FALSE(HasFatalFailure());
  for (const int error : {EIO, ENOSPC}) {
    auto fs = posix::MakeViewSubject(*volume_->OpenBranch("main"));
    fs->Become(posix::kRoot);
    const std::string name = "f" + std::to_string(error);
    auto file = fs->Open(name, O_RDWR | O_CREAT | O_EXCL);
    ASSERT_TRUE(file.ok());
    disk_->FailCommits(error);
    ASSERT_TRUE((*file)->Write(0, "content").ok() || disk_->calls().failed_commits > 0);
    EXPECT_EQ((*file)->Sync().code(), error);
    EXPECT_EQ((*file)->Sync().code(), error) << "and it does not forget";
    EXPECT_EQ(volume_->Flush(Durability::kSynced).code(), error);
    EXPECT_EQ(volume_->CreateSnapshot("main", "s-" + name, "", Durability::kSynced).code(), error);
    EXPECT_EQ(fs->Stat(name).code(), 0);
    disk_->Heal();
    EXPECT_EQ((*file)->Sync().code(), 0);
    ASSERT_TRUE((*file)->Write(0, "content").ok());
    EXPECT_EQ((*file)->Sync().code(), 0);
    file->reset();
    fs.reset();
    Crash();
    Open();
    ASSERT_FALSE(HasFatalFailure());
    fs = posix::MakeViewSubject(*volume_->OpenBranch("main"));
    fs->Become(posix::kRoot);
    EXPECT_EQ(fs->ReadFile(name).value(), "content");
  }
}

TEST_P(FailingDiskTest, WhatFreesSpaceWorksOnAFullDisk) {
  Open();
  ASSERT_FALSE(HasFatalFailure());
  auto fs = posix::MakeViewSubject(*volume_->OpenBranch("main"));
  fs->Become(posix::kRoot);
  ASSERT_TRUE(fs->WriteFile("big", std::string(100'000, 'b')).ok());
  ASSERT_TRUE(fs->WriteFile("small", "s").ok());
  ASSERT_TRUE(volume_->Flush(Durability::kSynced).ok());
  disk_->FailCommits(ENOSPC);
  ASSERT_TRUE(fs->Chmod("small", 0600).ok());
  ASSERT_EQ(volume_->Flush(Durability::kNone).code(), ENOSPC);
  EXPECT_EQ(fs->WriteFile("more", "m").code(), ENOSPC);
  EXPECT_EQ(fs->Stat("more").code(), ENOENT);
  EXPECT_EQ(fs->Unlink("big").code(), 0);
  EXPECT_EQ(fs->Truncate("small", 0).code(), 0);
  disk_->Heal();
  ASSERT_TRUE(volume_->Flush(Durability::kSynced).ok());
  EXPECT_EQ(fs->WriteFile("more", "m").code(), 0);
  EXPECT_EQ(fs->Stat("big").code(), ENOENT);
  EXPECT_EQ(fs->Stat("small")->size, 0u);
}

INSTANTIATE_TEST_SUITE_P(Setups, FailingDiskTest, testing::ValuesIn(AllSetups()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::crash
