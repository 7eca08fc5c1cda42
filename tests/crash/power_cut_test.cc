// SPDX-License-Identifier: Apache-2.0
//
// The power goes out: of what was not synced any part may be gone, and what was synced is there.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>

#include "disk.h"
#include "history.h"
#include "view_subject.h"

namespace agentfs::crash {
namespace {

constexpr uint32_t kOperations = 80;

class PowerCutTest : public testing::TestWithParam<Setup> {
 protected:
  // A cut while operations go on, and what was known when it came.
  struct Moment {
    size_t synced = 0;
    bool came = false;
  };

  // Works until the operations end; the power goes out somewhere on the way.
  void CutOnce(uint64_t seed, Disk::Unsynced unsynced) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Workspace workspace(GetParam());
    const std::string image = workspace.state_directory() + "-image";
    History history(FirstState(workspace.base_tree()), seed, GetParam().large);
    Moment moment;
    {
      Disk disk(workspace.state_directory());
      auto volume = OpenVolume(GetParam(), workspace.state_directory(), workspace.base_directory(),
                               1 + random() % 4);
      ASSERT_TRUE(volume.ok()) << volume.error().message();
      std::atomic<size_t> synced{0};
      disk.AtCall(1 + random() % 250, [&] {
        moment = {synced.load(), true};
        disk.Cut(image, unsynced, random);
      });
      Worker worker(**volume);
      for (uint32_t i = 1; i <= kOperations; ++i) {
        history.Returned(i, worker.Perform(MakeOperation(seed, i)));
        synced = history.synced();
      }
      disk.AtCall(0, nullptr);  // what closing writes is not our matter
      if (!moment.came) {
        moment = {synced.load(), true};
        disk.Cut(image, unsynced, random);
      }
      worker.LetGo();
    }
    auto left = OpenVolume(GetParam(), image, workspace.base_directory(), 5);
    ASSERT_TRUE(left.ok()) << left.error().message();
    history.Verify(**left, moment.synced, Crash::kPower);
  }
};

TEST_P(PowerCutTest, WhatWasSyncedSurvivesTheLossOfEverythingElse) {
  for (uint64_t i = 0; i < 12 && !HasFailure(); ++i) {
    CutOnce(FirstSeed() + 1'000'000 + i, Disk::Unsynced::kLost);
  }
}

TEST_P(PowerCutTest, WhatWasSyncedSurvivesWhenSomePagesAreWrittenAndSomeNot) {
  for (uint64_t i = 0; i < 16 && !HasFailure(); ++i) {
    CutOnce(FirstSeed() + 2'000'000 + i, Disk::Unsynced::kByChance);
  }
}

// The kernel writes in any order: the rows may all be on the disk, and of the objects only what was
// synced.
TEST_P(PowerCutTest, NoRowIsThereWithoutThePagesThatItMaps) {
  for (uint64_t i = 0; i < 12 && !HasFailure(); ++i) {
    CutOnce(FirstSeed() + 3'000'000 + i, Disk::Unsynced::kObjectsLost);
  }
}

TEST_P(PowerCutTest, NoObjectGoesBeforeTheRowsThatMapIt) {
  Workspace workspace(GetParam());
  const std::string image = workspace.state_directory() + "-image";
  {
    Disk disk(workspace.state_directory());
    auto volume =
        OpenVolume(GetParam(), workspace.state_directory(), workspace.base_directory(), 1).value();
    auto fs = posix::MakeViewSubject(volume->OpenBranch("main").value());
    fs->Become(posix::kRoot);
    for (const char* name : {"removed", "emptied"}) {
      auto file = fs->Open(name, O_RDWR | O_CREAT).value();
      ASSERT_TRUE(file->Write(0, std::string(300'000, 'x')).ok());
      ASSERT_TRUE(file->Sync().ok());
    }
    ASSERT_TRUE(fs->Unlink("removed").ok());
    ASSERT_TRUE(fs->Truncate("emptied", 0).ok());
    // The rows go with the first batch, what they mapped with those after it.
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(volume->Flush(Durability::kNone).ok());
    std::mt19937_64 random(0);
    disk.Cut(image, Disk::Unsynced::kLost, random);
  }
  auto left = OpenVolume(GetParam(), image, workspace.base_directory(), 5).value();
  const FsckReport report = left->Check(false).value();
  for (const FsckProblem& problem : report.problems) {
    ADD_FAILURE() << "fsck: " << problem.what;
  }
}

// Each sync that returns well after a change has synced the database's file, and the object of
// large content.
TEST_P(PowerCutTest, EverySyncReachesTheDisk) {
  Workspace workspace(GetParam());
  Disk disk(workspace.state_directory());
  auto volume = OpenVolume(GetParam(), workspace.state_directory(), workspace.base_directory(), 1);
  ASSERT_TRUE(volume.ok()) << volume.error().message();
  auto fs = posix::MakeViewSubject((*volume)->OpenBranch("main").value());
  fs->Become(posix::kRoot);
  const bool objects = GetParam().large == LargeContent::kInObjects;
  for (int i = 0; i < 20; ++i) {
    auto file = fs->Open("file" + std::to_string(i % 3), O_RDWR | O_CREAT).value();
    const uint64_t database = disk.Syncs("/volume.");
    const uint64_t object = disk.Syncs("/objects/");
    ASSERT_TRUE(
        file->Write(0, std::string(i % 2 ? 100'000 : 100, static_cast<char>('a' + i))).ok());
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_GT(disk.Syncs("/volume."), database) << i;
    if (objects && i % 2 != 0) {
      EXPECT_GT(disk.Syncs("/objects/"), object) << i;
    }
  }
}

// One flush for a database that overwrites its log; two when the file has grown.
TEST_P(PowerCutTest, WhatIsOverwrittenInPlaceIsSyncedByItsObjectAlone) {
  if (GetParam().large != LargeContent::kInObjects) GTEST_SKIP() << "there are no objects";
  Workspace workspace(GetParam());
  const std::string image = workspace.state_directory() + "-image";
  std::string content;
  {
    Disk disk(workspace.state_directory());
    auto volume =
        OpenVolume(GetParam(), workspace.state_directory(), workspace.base_directory(), 60'000)
            .value();
    auto fs = volume->OpenBranch("main").value();
    const Found file = fs->Create(Caller(), *fs->Root(), "file", 0644).value();
    // How often the store was synced for it; nothing else commits meanwhile.
    const auto write = [&](uint64_t offset, const std::string& bytes) {
      content.resize(std::max<size_t>(content.size(), offset + bytes.size()));
      content.replace(offset, bytes.size(), bytes);
      const uint64_t rows = disk.Syncs("/volume."), objects = disk.Syncs("/objects/");
      EXPECT_TRUE(fs->Write(Caller(), *file.node, offset, bytes).ok());
      EXPECT_TRUE(fs->SyncData(*file.node).ok());
      EXPECT_GT(disk.Syncs("/objects/"), objects);
      return disk.Syncs("/volume.") - rows;
    };
    EXPECT_GT(write(0, std::string(300'000, 'a')), 0u);
    for (char c = 'b'; c < 'g'; ++c) EXPECT_EQ(write((c - 'a') * 7000, std::string(9000, c)), 0u);
    EXPECT_GT(write(content.size() - 5, "it has grown"), 0u);
    EXPECT_EQ(write(10, "overwritten"), 0u);
    std::mt19937_64 random(0);
    disk.Cut(image, Disk::Unsynced::kLost, random);
  }
  auto left = OpenVolume(GetParam(), image, workspace.base_directory(), 5).value();
  auto fs = left->OpenBranch("main").value();
  const Found file = fs->Lookup(Caller(), *fs->Root(), "file").value();
  std::string found(content.size() + 1, '\0');
  found.resize(fs->Read(*file.node, 0, found).value());
  EXPECT_TRUE(found == content);
}

INSTANTIATE_TEST_SUITE_P(Setups, PowerCutTest, testing::ValuesIn(AllSetups()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::crash
