// SPDX-License-Identifier: Apache-2.0
#include "core/room_guard.h"

#include <gtest/gtest.h>

#include <memory>

#include "agentfs/stores.h"
#include "core/journal.h"
#include "store/faulty_store.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A store on a disk of 64 MiB, of which 6 are kept.
class RoomyStore : public FaultyStore {
 public:
  RoomyStore() : FaultyStore(std::move(*OpenMemoryStore(VolumeSchema()))) {}
  Room GetRoom() override {
    ++looks;
    return room;
  }
  Room room{.disk = 40 * kMiB, .kept = 6 * kMiB};
  int looks = 0;
};

TEST(RoomGuardTest, TheLastOfTheDiskIsForThoseWhoFreeSpace) {
  RoomyStore store;
  RoomGuard guard(store);
  EXPECT_TRUE(guard.Take(kMiB, 0).ok());
  store.room.disk = 6 * kMiB;
  guard.LookAgain(0);
  EXPECT_EQ(guard.Take(0, 0).code(), ENOSPC);
  EXPECT_EQ(guard.Take(0, 0).code(), ENOSPC) << "and it does not forget";
  store.room.disk = 7 * kMiB;
  EXPECT_TRUE(guard.Take(0, 0).ok()) << "there is space again";
}

TEST(RoomGuardTest, WhatIsPendingNeedsItsRoom) {
  RoomyStore store;
  store.room.disk = 20 * kMiB;
  RoomGuard guard(store);
  EXPECT_EQ(guard.Take(0, 5 * kMiB).code(), ENOSPC);
  EXPECT_TRUE(guard.Take(0, 4 * kMiB).ok());
}

TEST(RoomGuardTest, PagesOfTheStoresOwnAreRoomForRowsButNotForCommits) {
  RoomyStore store;
  store.room.disk = 4 * kMiB;
  RoomGuard guard(store);
  EXPECT_EQ(guard.Take(0, 0).code(), ENOSPC);
  store.room.own = 30 * kMiB;
  EXPECT_TRUE(guard.Take(0, 0).ok());
  guard.LookAgain(0);
  EXPECT_EQ(guard.Take(2 * kMiB, 0).code(), ENOSPC);
  store.room.disk = 3 * kMiB;
  EXPECT_EQ(guard.Take(0, 0).code(), ENOSPC);
}

TEST(RoomGuardTest, ACommitMayTakeAShareOfADiskThatIsNearlyFull) {
  RoomyStore store;
  RoomGuard guard(store);
  guard.LookAgain(0);
  EXPECT_EQ(guard.commit_bytes(), Store::Room::kUnlimited);
  store.room.disk = 10 * kMiB;
  guard.LookAgain(0);
  EXPECT_LT(guard.commit_bytes(), store.room.kept);
  EXPECT_TRUE(guard.Take(0, 0).ok()) << "there is room all the same";
  store.room.disk = 40 * kMiB;
  guard.LookAgain(0);
  EXPECT_EQ(guard.commit_bytes(), Store::Room::kUnlimited);
}

TEST(RoomGuardTest, WithMuchRoomItSeldomLooks) {
  RoomyStore store;
  store.room = {};
  RoomGuard guard(store);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(guard.Take(100, 0).ok());
  EXPECT_EQ(store.looks, 1);
}

TEST(RoomGuardTest, TheJournalLetsInWhatFreesAndWhatIsThere) {
  RoomyStore store;
  store.room.disk = kMiB;
  Journal journal(store, {}, {.before_seal = [] {}, .at_seal = [] {}, .after_commit = [] {}});
  EXPECT_EQ(journal.Admit(Growth::kGrows).code(), ENOSPC);
  EXPECT_TRUE(journal.Admit(Growth::kSettles).ok());
  EXPECT_TRUE(journal.Admit(Growth::kFrees).ok());
  store.FailCommits(EIO);
  {
    Journal::Change change(journal);
    change.Put(tables::kMeta, "key", "");
  }
  EXPECT_EQ(journal.Flush(Durability::kNone).code(), EIO);
  EXPECT_EQ(journal.Admit(Growth::kSettles).code(), EIO);
  EXPECT_TRUE(journal.Admit(Growth::kFrees).ok());
  store.Heal();
}

}  // namespace
}  // namespace agentfs
