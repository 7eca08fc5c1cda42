// SPDX-License-Identifier: Apache-2.0
//
// The power goes out while files grow that are synced again and again: each sync of data that was
// acknowledged is there, with the size that the file had, whatever else was done to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <random>

#include "disk.h"
#include "rig.h"

namespace agentfs::crash {
namespace {

using Unsynced = Disk::Unsynced;

constexpr uint64_t kFirstSize = 100'000;  // in an object

class GrowingPowerCutTest : public testing::TestWithParam<Setup> {
 protected:
  // One life of a volume with one file, and what is known of it.
  struct Life {
    explicit Life(const crash::Setup& setup) : workspace(setup) {}
    Workspace workspace;
    std::unique_ptr<Disk> disk;
    std::unique_ptr<Volume> volume;
    std::shared_ptr<FileSystem> fs;
    NodeRef file;
    std::string content;                 // as it is now
    std::string synced;                  // as it was when a sync was acknowledged last
    std::vector<bool> touched;           // since then
    uint64_t shortest = 0, longest = 0;  // since then, and then
    std::atomic<bool> gone{false};       // the power: what returns now may have been too late
    std::map<std::string, std::string> snapshots;  // synced ones, and what they have

    ~Life() {
      file = NodeRef();
      fs.reset();
      volume.reset();
      disk.reset();
    }
    std::string image() const { return workspace.state_directory() + "-image"; }
  };

  std::unique_ptr<Life> Begin(uint32_t interval_ms) {
    auto life = std::make_unique<Life>(GetParam());
    life->disk = std::make_unique<Disk>(life->workspace.state_directory());
    life->volume = OpenVolume(GetParam(), life->workspace.state_directory(),
                              life->workspace.base_directory(), interval_ms)
                       .value();
    life->fs = life->volume->OpenBranch("main").value();
    life->file = life->fs->Create(Caller(), *life->fs->Root(), "log", 0644).value().node;
    Write(*life, 0, std::string(kFirstSize, 'a'));
    Sync(*life);
    return life;
  }

  static void Touch(Life& life, uint64_t from, uint64_t to) {
    if (life.touched.size() < to) life.touched.resize(to);
    std::fill(life.touched.begin() + static_cast<ptrdiff_t>(from),
              life.touched.begin() + static_cast<ptrdiff_t>(to), true);
  }
  static void Write(Life& life, uint64_t offset, const std::string& bytes) {
    const uint64_t size = std::max<uint64_t>(life.content.size(), offset + bytes.size());
    Touch(life, offset, offset + bytes.size());
    life.longest = std::max(life.longest, size);
    life.content.resize(size);
    life.content.replace(offset, bytes.size(), bytes);
    ASSERT_TRUE(life.fs->Write(Caller(), *life.file, offset, bytes).ok());
  }
  static void Resize(Life& life, uint64_t size) {
    if (size < life.content.size()) {
      Touch(life, size, life.content.size());
    }
    life.content.resize(size);
    life.shortest = std::min(life.shortest, size);
    life.longest = std::max(life.longest, size);
    AttrChange change;
    change.size = size;
    ASSERT_TRUE(life.fs->SetAttr(Caller(), *life.file, change).ok());
  }
  static void Punch(Life& life, uint64_t from, uint64_t length) {
    const uint64_t to = std::min<uint64_t>(life.content.size(), from + length);
    if (from >= to) return;
    Touch(life, from, to);
    std::fill(life.content.begin() + static_cast<ptrdiff_t>(from),
              life.content.begin() + static_cast<ptrdiff_t>(to), '\0');
    ASSERT_TRUE(
        life.fs->Allocate(Caller(), *life.file, AllocateMode::kPunchHole, from, length).ok());
  }
  static void Sync(Life& life) {
    ASSERT_TRUE(life.fs->SyncData(*life.file).ok());
    if (life.gone) return;
    life.synced = life.content;
    life.touched.assign(life.content.size(), false);
    life.shortest = life.longest = life.content.size();
  }

  static std::string ReadAll(FileSystem& fs) {
    const Found found = fs.Lookup(Caller(), *fs.Root(), "log").value();
    std::string content(found.attr.size + 1, '?');
    content.resize(fs.Read(*found.node, 0, content).value());
    EXPECT_EQ(content.size(), found.attr.size);
    return content;
  }

  // What is left is what the last sync has seen, but for what was done since.
  void Verify(const Life& life) {
    auto volume =
        OpenVolume(GetParam(), life.image(), life.workspace.base_directory(), 60'000).value();
    const std::string left = ReadAll(*volume->OpenBranch("main").value());
    EXPECT_GE(left.size(), life.shortest);
    EXPECT_LE(left.size(), life.longest);
    for (uint64_t i = 0; i < std::min(left.size(), life.synced.size()); ++i) {
      if (i < life.touched.size() && life.touched[i]) continue;
      ASSERT_EQ(left[i], life.synced[i]) << "byte " << i << " of " << left.size();
    }
    for (const auto& [name, content] : life.snapshots) {
      EXPECT_TRUE(ReadAll(*volume->OpenSnapshot(name).value()) == content) << name;
    }
    const FsckReport report = volume->Check(false).value();
    for (const FsckProblem& problem : report.problems) {
      ADD_FAILURE() << "fsck: " << problem.what;
    }
    EXPECT_TRUE(volume->Close().ok());
    std::filesystem::remove_all(life.image());
  }

  // One random step.
  static void Step(Life& life, std::mt19937_64& random) {
    const uint64_t size = life.content.size();
    const std::string bytes(1 + random() % 9000, static_cast<char>('b' + random() % 24));
    switch (random() % 24) {
      case 0:
        return Resize(life, size - random() % std::min<uint64_t>(size, 20'000));
      case 1:
        return Resize(life, size + random() % 20'000);
      case 2:
        return Punch(life, random() % size, 1 + random() % 30'000);
      case 3:
        return Write(life, size + random() % 20'000, bytes);
      case 4:
      case 5:
        return Write(life, random() % size, bytes);
      case 6: {
        const std::string name = "snap" + std::to_string(random() % 1'000'000'000);
        const auto durability = random() % 2 == 0 ? Durability::kSynced : Durability::kNone;
        ASSERT_TRUE(life.volume->CreateSnapshot("main", name, "", durability).ok());
        if (durability == Durability::kSynced && !life.gone) life.snapshots[name] = life.content;
        return;
      }
      default:
        Write(life, size, bytes);
        return Sync(life);
    }
  }
};

TEST_P(GrowingPowerCutTest, WhatIsAppendedToALogIsSyncedByItsObjectAlone) {
  auto life = Begin(60'000);  // nothing else commits meanwhile
  std::mt19937_64 random(FirstSeed());
  for (int i = 0; i < 30; ++i) {
    const uint64_t rows = life->disk->Syncs("/volume."), objects = life->disk->Syncs("/objects/");
    Write(*life, life->content.size(), std::string(3000 + 7 * i, static_cast<char>('a' + i % 26)));
    Sync(*life);
    EXPECT_GT(life->disk->Syncs("/objects/"), objects);
    if (i >= 4) EXPECT_EQ(life->disk->Syncs("/volume."), rows) << i;
    if (i % 10 != 9) continue;
    for (Unsynced unsynced : {Unsynced::kLost, Unsynced::kByChance, Unsynced::kThere}) {
      life->disk->Cut(life->image(), unsynced, random);
      Verify(*life);
    }
  }
}

TEST_P(GrowingPowerCutTest, WhatWasNotSyncedOfALogIsThereIfOnlyTheProcessDied) {
  auto life = Begin(60'000);
  std::mt19937_64 random(FirstSeed());
  for (int i = 0; i < 8; ++i) {
    Write(*life, life->content.size(), std::string(3000, 'l'));
    Sync(*life);
  }
  Write(*life, life->content.size(), std::string(5000, 'm'));
  life->synced = life->content;
  life->shortest = life->longest = life->content.size();
  life->touched.clear();
  life->disk->Cut(life->image(), Unsynced::kThere, random);
  Verify(*life);
}

// Whatever is done to the file between the syncs, and whenever the power goes out.
TEST_P(GrowingPowerCutTest, EverySyncThatReturnedIsThereWithItsSize) {
  constexpr Unsynced kModes[] = {Unsynced::kLost, Unsynced::kByChance, Unsynced::kThere};
  for (uint64_t i = 0; i < 12 && !HasFailure(); ++i) {
    const uint64_t seed = FirstSeed() + 5'000'000 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Unsynced unsynced = kModes[i % 3];
    auto life = Begin(i % 2 == 0 ? 60'000 : 1 + random() % 5);
    const uint64_t steps = 10 + random() % 40;
    std::mt19937_64 chance(seed);
    for (uint64_t step = 0; step < steps && !HasFailure(); ++step) {
      Step(*life, random);
      if (chance() % 4 != 0) continue;
      life->disk->Cut(life->image(), unsynced, chance);
      Verify(*life);
    }
    life->disk->AtCall(1 + random() % 12, [&] {
      life->gone = true;
      life->disk->Cut(life->image(), unsynced, chance);
    });
    for (int more = 0; !life->gone && more < 50 && !HasFailure(); ++more) Step(*life, random);
    life->disk->AtCall(0, nullptr);  // and the cut is complete
    if (!life->gone) life->disk->Cut(life->image(), unsynced, chance);
    Verify(*life);
  }
}

INSTANTIATE_TEST_SUITE_P(Setups, GrowingPowerCutTest,
                         testing::Values(Setup{StoreKind::kSqlite, Base::kNone},
                                         Setup{StoreKind::kLmdb, Base::kHost}),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::crash
