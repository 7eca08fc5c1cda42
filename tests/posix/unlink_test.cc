// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class UnlinkTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(UnlinkTest);

TEST_P(UnlinkTest, RemovesFilesOfEveryType) {
  Value(setup().WriteFile("f", Pattern(100000)));
  Value(setup().MakeSymlink("f", "l"));
  Value(setup().MakeNode("p", S_IFIFO | 0644, 0));
  Value(setup().MakeNode("s", S_IFSOCK | 0644, 0));
  for (const char* name : {"l", "f", "p", "s"}) EXPECT_OK(fs().Unlink(name)) << name;
  EXPECT_TRUE(Names("").empty());
  EXPECT_ERRNO(fs().Stat("f"), ENOENT);
}

TEST_P(UnlinkTest, Errors) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().Unlink("d"), EISDIR);
  EXPECT_ERRNO(fs().Unlink("missing"), ENOENT);
  EXPECT_ERRNO(fs().Unlink("f/x"), ENOTDIR);
  EXPECT_ERRNO(fs().Unlink("d/x"), ENOENT);
  EXPECT_ERRNO(fs().Unlink(std::string(256, 'n')), ENAMETOOLONG);
}

TEST_P(UnlinkTest, ANameCanBeUsedAgain) {
  Value(setup().WriteFile("f", "old"));
  Value(setup().SetXattr("f", "user.old", "1"));
  EXPECT_OK(fs().Unlink("f"));
  EXPECT_ERRNO(fs().Unlink("f"), ENOENT);
  Value(fs().WriteFile("f", ""));
  EXPECT_EQ(Content("f"), "");
  EXPECT_ERRNO(fs().GetXattr("f", "user.old"), ENODATA);
  EXPECT_OK(fs().Unlink("f"));
  EXPECT_OK(fs().MakeDirectory("f"));
  EXPECT_OK(fs().RemoveDirectory("f"));
  EXPECT_OK(fs().MakeSymlink("x", "f"));
  EXPECT_EQ(Value(fs().ReadLink("f")), "x");
}

TEST_P(UnlinkTest, TheLastLinkTakesTheContent) {
  Value(setup().WriteFile("a", "content"));
  Value(setup().Link("a", "b"));
  Value(setup().Link("a", "c"));
  EXPECT_OK(fs().Unlink("a"));
  EXPECT_EQ(Stat("b").nlink, 2u);
  EXPECT_EQ(Content("c"), "content");
  EXPECT_OK(fs().Unlink("b"));
  EXPECT_EQ(Stat("c").nlink, 1u);
  EXPECT_OK(fs().Unlink("c"));
  EXPECT_TRUE(Names("").empty());
}

TEST_P(UnlinkTest, NeedsAWritableDirectoryOnly) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("mine"));
  Value(setup().WriteFile("mine/f", ""));
  Value(setup().Chmod("mine/f", 0));
  Value(setup().Chown("mine", kAlice.uid, kAlice.gid));
  Value(setup().MakeDirectory("others"));
  Value(setup().WriteFile("others/f", ""));
  Value(setup().Chown("others/f", kAlice.uid, kAlice.gid));
  As as(fs(), kAlice);
  EXPECT_OK(fs().Unlink("mine/f"));
  EXPECT_ERRNO(fs().Unlink("others/f"), EACCES);
  EXPECT_ERRNO(fs().Unlink("others/missing"), ENOENT);
}

TEST_P(UnlinkTest, StickyDirectories) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("t"));
  Value(setup().Chmod("t", 01777));
  for (const char* name : {"t/a", "t/b", "t/c", "t/d"}) Value(setup().WriteFile(name, "", 0666));
  Value(setup().Chown("t/a", kAlice.uid, kAlice.gid));
  Value(setup().Chown("t/b", kBob.uid, kBob.gid));
  {
    As as(fs(), kAlice);
    EXPECT_OK(fs().Unlink("t/a"));
    EXPECT_ERRNO(fs().Unlink("t/b"), EPERM);
    EXPECT_ERRNO(fs().Unlink("t/c"), EPERM);
  }
  // The directory's owner may, as may root.
  Value(fs().Chown("t", kAlice.uid, kAlice.gid));
  {
    As as(fs(), kAlice);
    EXPECT_OK(fs().Unlink("t/b"));
    EXPECT_OK(fs().Unlink("t/c"));
  }
  EXPECT_OK(fs().Unlink("t/d"));
}

TEST_P(UnlinkTest, TouchesTheDirectoryAndTheLinksThatStay) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", ""));
  Value(setup().Link("d/f", "other"));
  const Attr directory = Stat("d");
  const Attr file = Stat("other");
  Tick();
  EXPECT_OK(fs().Unlink("d/f"));
  ExpectTouched(directory, Stat("d"), kBoth, "d");
  ExpectTouched(file, Stat("other"), kCtime, "other");
}

}  // namespace
}  // namespace agentfs::posix
