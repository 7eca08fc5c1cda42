// SPDX-License-Identifier: Apache-2.0
#include <sys/sysmacros.h>

#include "posix_test.h"

namespace agentfs::posix {
namespace {

class MakeNodeTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(MakeNodeTest);

TEST_P(MakeNodeTest, FifosAndSockets) {
  EXPECT_OK(fs().MakeNode("p", S_IFIFO | 0666, 0));
  EXPECT_OK(fs().MakeNode("s", S_IFSOCK | 0600, 0));
  EXPECT_OK(fs().MakeNode("f", S_IFREG | 0640, 0));
  EXPECT_EQ(Stat("p").mode, S_IFIFO | 0644u);
  EXPECT_EQ(Stat("s").mode, S_IFSOCK | 0600u);
  EXPECT_EQ(Stat("f").mode, S_IFREG | 0640u);
  EXPECT_EQ(Stat("p").nlink, 1u);
  EXPECT_EQ(Stat("p").size, 0u);
  Value(Open("f", O_RDWR)->Write(0, "x"));
}

TEST_P(MakeNodeTest, ExistingOnesKeepTheirType) {
  Value(setup().MakeNode("p", S_IFIFO | 0644, 0));
  Value(setup().MakeNode("s", S_IFSOCK | 0600, 0));
  EXPECT_OK(fs().Chmod("p", 0600));
  EXPECT_EQ(Stat("p").mode, S_IFIFO | 0600u);
  EXPECT_OK(fs().Rename("s", "t"));
  EXPECT_EQ(Stat("t").mode, S_IFSOCK | 0600u);
}

TEST_P(MakeNodeTest, Devices) {
  NEEDS_OTHERS();
  const auto made = setup().MakeNode("null", S_IFCHR | 0666, ::makedev(1, 3));
  if (made.code() == EPERM) GTEST_SKIP() << "this process may not make devices";
  Value(made);
  Value(setup().MakeNode("disk", S_IFBLK | 0600, ::makedev(259, 70000)));
  EXPECT_EQ(Stat("null").mode, S_IFCHR | 0644u);
  EXPECT_EQ(Stat("null").rdev, ::makedev(1, 3));
  EXPECT_EQ(Stat("disk").mode, S_IFBLK | 0600u);
  EXPECT_EQ(Stat("disk").rdev, ::makedev(259, 70000));
  EXPECT_OK(fs().Chmod("null", 0600));
  EXPECT_EQ(Stat("null").rdev, ::makedev(1, 3));
}

TEST_P(MakeNodeTest, DevicesAreRootsOnly) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().Chmod("d", 0777));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().MakeNode("d/null", S_IFCHR | 0666, ::makedev(1, 3)), EPERM);
  EXPECT_ERRNO(fs().MakeNode("d/disk", S_IFBLK | 0666, ::makedev(8, 0)), EPERM);
  EXPECT_OK(fs().MakeNode("d/p", S_IFIFO | 0666, 0));
  EXPECT_OK(fs().MakeNode("d/whiteout", S_IFCHR | 0600, 0));
}

TEST_P(MakeNodeTest, Errors) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  EXPECT_ERRNO(fs().MakeNode("f", S_IFIFO | 0666, 0), EEXIST);
  EXPECT_ERRNO(fs().MakeNode("d", S_IFIFO | 0666, 0), EEXIST);
  EXPECT_ERRNO(fs().MakeNode("x/y", S_IFIFO | 0666, 0), ENOENT);
  EXPECT_ERRNO(fs().MakeNode("f/y", S_IFIFO | 0666, 0), ENOTDIR);
  EXPECT_ERRNO(fs().MakeNode(std::string(256, 'n'), S_IFIFO | 0666, 0), ENAMETOOLONG);
  EXPECT_ERRNO(fs().MakeNode("new", S_IFDIR | 0666, 0), EPERM);
}

TEST_P(MakeNodeTest, TouchesTheDirectory) {
  Value(setup().MakeDirectory("d"));
  const Attr before = Stat("d");
  Tick();
  EXPECT_OK(fs().MakeNode("d/p", S_IFIFO | 0666, 0));
  ExpectTouched(before, Stat("d"), kBoth, "d");
}

}  // namespace
}  // namespace agentfs::posix
