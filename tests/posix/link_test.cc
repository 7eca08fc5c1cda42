// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class LinkTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(LinkTest);

TEST_P(LinkTest, NamesShareOneFile) {
  Value(setup().WriteFile("a", Pattern(70000)));
  Value(setup().MakeDirectory("d"));
  EXPECT_OK(fs().Link("a", "d/b"));
  EXPECT_EQ(Stat("a").node.value, Stat("d/b").node.value);
  EXPECT_EQ(Stat("a").nlink, 2u);
  Value(Open("d/b", O_RDWR)->Write(0, "changed"));
  EXPECT_EQ(Content("a").substr(0, 7), "changed");
  EXPECT_OK(fs().Chmod("a", 0600));
  EXPECT_EQ(Mode("d/b"), 0600u);
  EXPECT_OK(fs().Truncate("a", 3));
  EXPECT_EQ(Content("d/b"), "cha");
}

TEST_P(LinkTest, ExistingLinksStayTogether) {
  Value(setup().WriteFile("a", Pattern(70000)));
  Value(setup().Link("a", "b"));
  Value(setup().MakeDirectory("d"));
  Value(setup().Link("a", "d/c"));
  EXPECT_EQ(Stat("a").nlink, 3u);
  EXPECT_EQ(Stat("a").node.value, Stat("d/c").node.value);
  Value(Open("b", O_RDWR)->Write(69999, "tail"));
  EXPECT_EQ(Stat("a").size, 70003u);
  EXPECT_EQ(Content("d/c").substr(69999), "tail");
  EXPECT_OK(fs().Chmod("d/c", 0640));
  EXPECT_EQ(Mode("a"), 0640u);
  EXPECT_OK(fs().SetXattr("a", "user.x", "y"));
  EXPECT_EQ(Value(fs().GetXattr("b", "user.x")), "y");
  EXPECT_OK(fs().Unlink("a"));
  EXPECT_EQ(Stat("b").nlink, 2u);
  EXPECT_OK(fs().Rename("b", "d/b"));
  EXPECT_EQ(Stat("d/b").node.value, Stat("d/c").node.value);
}

TEST_P(LinkTest, LinksToSymlinksAndSpecialFiles) {
  Value(setup().MakeSymlink("target", "l"));
  Value(setup().MakeNode("p", S_IFIFO | 0644, 0));
  EXPECT_OK(fs().Link("l", "l2"));
  EXPECT_OK(fs().Link("p", "p2"));
  EXPECT_EQ(Value(fs().ReadLink("l2")), "target");
  EXPECT_EQ(Stat("l").nlink, 2u);
  EXPECT_EQ(Stat("p2").mode, S_IFIFO | 0644u);
}

TEST_P(LinkTest, Errors) {
  Value(setup().WriteFile("f", ""));
  Value(setup().WriteFile("g", ""));
  Value(setup().MakeDirectory("d"));
  EXPECT_ERRNO(fs().Link("d", "e"), EPERM);
  EXPECT_ERRNO(fs().Link("f", "g"), EEXIST);
  EXPECT_ERRNO(fs().Link("f", "d"), EEXIST);
  EXPECT_ERRNO(fs().Link("f", "f"), EEXIST);
  EXPECT_ERRNO(fs().Link("missing", "x"), ENOENT);
  EXPECT_ERRNO(fs().Link("f", "missing/x"), ENOENT);
  EXPECT_ERRNO(fs().Link("f", "g/x"), ENOTDIR);
  EXPECT_ERRNO(fs().Link("f", std::string(256, 'n')), ENAMETOOLONG);
  EXPECT_EQ(Stat("f").nlink, 1u);
}

TEST_P(LinkTest, ManyLinks) {
  Value(setup().WriteFile("f", "x"));
  Value(setup().MakeDirectory("d"));
  for (int i = 0; i < 500; ++i) EXPECT_OK(fs().Link("f", "d/" + std::to_string(i)));
  EXPECT_EQ(Stat("f").nlink, 501u);
  for (int i = 0; i < 500; i += 2) EXPECT_OK(fs().Unlink("d/" + std::to_string(i)));
  EXPECT_EQ(Stat("d/1").nlink, 251u);
}

TEST_P(LinkTest, NeedsAWritableDirectory) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("f", ""));
  Value(setup().WriteFile("d/there", ""));
  Value(setup().Chown("f", kAlice.uid, kAlice.gid));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Link("f", "d/x"), EACCES);
  EXPECT_ERRNO(fs().Link("f", "d/there"), EEXIST);
}

TEST_P(LinkTest, TouchesTheDirectoryAndTheFilesCtime) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("f", ""));
  const Attr directory = Stat("d");
  const Attr file = Stat("f");
  Tick();
  EXPECT_OK(fs().Link("f", "d/g"));
  ExpectTouched(directory, Stat("d"), kBoth, "d");
  ExpectTouched(file, Stat("f"), kCtime, "f");
}

}  // namespace
}  // namespace agentfs::posix
