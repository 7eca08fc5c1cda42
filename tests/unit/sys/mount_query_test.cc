// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_query.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "scratch.h"
#include "sys/mount_table.h"

namespace agentfs {
namespace {

class MountQueryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (AskForMountAt("/").code() == ENOSYS) GTEST_SKIP() << "this kernel cannot be asked";
  }
};

TEST_F(MountQueryTest, TheFactsAreThoseOfTheTable) {
  for (const std::string point : {"/", "/proc"}) {
    const auto entry = TopMountAt(point);
    ASSERT_TRUE(entry.ok());
    const auto facts = AskForMountAt(point);
    ASSERT_TRUE(facts.ok());
    ASSERT_EQ(facts->has_value(), entry->has_value()) << point;
    if (!*facts) continue;
    EXPECT_EQ((*facts)->id, (*entry)->id);
    EXPECT_EQ((*facts)->minor, (*entry)->minor);
    EXPECT_EQ((*facts)->type, (*entry)->type);
  }
}

TEST_F(MountQueryTest, ADirectoryThatIsNoMountsRootHasNone) {
  const Scratch scratch;
  const auto facts = AskForMountAt(scratch.path());
  ASSERT_TRUE(facts.ok());
  EXPECT_FALSE(facts->has_value());
}

TEST_F(MountQueryTest, WhatIsNotThereIsNotTakenForNotMounted) {
  const Scratch scratch;
  EXPECT_EQ(AskForMountAt(scratch.path() + "/none").code(), ENOSYS);
}

TEST_F(MountQueryTest, AMountThatHasGoneIsMissedThoughAnotherIsThere) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const Scratch scratch;
  std::thread([&] {
    // In a namespace of this thread's own.
    ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("t", scratch.path().c_str(), "tmpfs", 0, "size=4k"), 0);
    const auto first = AskForMountAt(scratch.path());
    ASSERT_TRUE(first.ok() && first->has_value());
    EXPECT_EQ((*first)->type, "tmpfs");
    EXPECT_TRUE(AskWhetherMounted((*first)->lasting_id).value());
    ASSERT_EQ(::umount2(scratch.path().c_str(), MNT_DETACH), 0);
    ASSERT_EQ(::mount("t", scratch.path().c_str(), "tmpfs", 0, "size=4k"), 0);
    EXPECT_FALSE(AskWhetherMounted((*first)->lasting_id).value());
    const auto second = AskForMountAt(scratch.path());
    ASSERT_TRUE(second.ok() && second->has_value());
    EXPECT_NE((*second)->lasting_id, (*first)->lasting_id);
    ::umount2(scratch.path().c_str(), MNT_DETACH);
  }).join();
}

}  // namespace
}  // namespace agentfs
