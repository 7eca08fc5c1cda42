// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.h"

#include <gtest/gtest.h>

namespace agentfs {
namespace {

TEST(MountTableTest, EscapedBytesAreThemselves) {
  auto entries = ParseMountInfo(
      "36 35 0:3 / /mnt/a\\040b\\134c rw,noatime master:1 - fuse.agentfs /w\\011s rw\n"
      "nonsense\n"
      "37 35 0:4 / /x rw - tmpfs none rw");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].point, "/mnt/a b\\c");
  EXPECT_EQ(entries[0].type, "fuse.agentfs");
  EXPECT_EQ(entries[0].source, "/w\ts");
  EXPECT_EQ(entries[1].point, "/x");
}

TEST(MountTableTest, TheRootIsMounted) {
  auto entries = ReadMountTable();
  ASSERT_TRUE(entries.ok());
  bool root = false;
  for (const MountEntry& entry : *entries) root |= entry.point == "/";
  EXPECT_TRUE(root);
}

}  // namespace
}  // namespace agentfs
