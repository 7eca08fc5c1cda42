// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "scratch.h"

namespace agentfs {
namespace {

TEST(MountTableTest, EscapedBytesAreThemselvesAndOptionalFieldsAreLeftOut) {
  auto entries = ParseMountInfo(
      "36 35 0:51 /branches/a\\040b /mnt/a\\040b\\134c rw,noatime master:1 - fuse.agentfs "
      "/w\\011s rw\n"
      "nonsense\n"
      "37 35 8:4 / /x rw - tmpfs none rw");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].id, 36u);
  EXPECT_EQ(entries[0].minor, 51u);
  EXPECT_EQ(entries[0].root, "/branches/a b");
  EXPECT_EQ(entries[0].point, "/mnt/a b\\c");
  EXPECT_EQ(entries[0].type, "fuse.agentfs");
  EXPECT_EQ(entries[0].source, "/w\ts");
  EXPECT_EQ(entries[1].major, 8u);
  EXPECT_EQ(entries[1].point, "/x");
}

TEST(MountTableTest, TheRootIsMounted) {
  auto entries = ReadMountTable();
  ASSERT_TRUE(entries.ok());
  bool root = false;
  for (const MountEntry& entry : *entries) root |= entry.point == "/";
  EXPECT_TRUE(root);
}

TEST(MountTableTest, WhatIsMountedAllTheWhileIsFoundWhileOthersComeAndGo) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const Scratch scratch;
  for (const char* name : {"/stays", "/a", "/b", "/c"}) {
    ASSERT_EQ(::mkdir((scratch.path() + name).c_str(), 0755), 0);
  }
  std::atomic<bool> done = false;
  bool found = true;
  std::thread others([&] {
    // In a namespace of this thread's own.
    ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    const std::string stays = scratch.path() + "/stays";
    for (int i = 0; i < 60; ++i) ASSERT_EQ(::mount("t", stays.c_str(), "tmpfs", 0, "size=4k"), 0);
    const auto pid = static_cast<uint32_t>(::syscall(SYS_gettid));
    std::thread changes([&] {  // a child thread shares the namespace
      while (!done) {
        for (const char* name : {"/a", "/b", "/c"}) {
          ::mount("t", (scratch.path() + name).c_str(), "tmpfs", 0, "size=4k");
        }
        for (const char* name : {"/a", "/b", "/c"}) {
          ::umount2((scratch.path() + name).c_str(), MNT_DETACH);
        }
      }
    });
    for (int i = 0; i < 200 && found; ++i) {
      const auto table = ReadMountTableOf(pid);
      ASSERT_TRUE(table.ok());
      found = std::count_if(table->begin(), table->end(),
                            [&](const MountEntry& entry) { return entry.point == stays; }) == 60;
    }
    done = true;
    changes.join();
  });
  others.join();
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace agentfs
