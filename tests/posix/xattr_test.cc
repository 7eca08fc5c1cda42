// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

using testing::UnorderedElementsAre;

class XattrTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    Value(setup().WriteFile("probe", ""));
    const auto set = setup().SetXattr("probe", "user.x", "");
    if (set.code() == EOPNOTSUPP) GTEST_SKIP() << "this filesystem has no user xattrs";
    Value(set);
    Value(setup().Unlink("probe"));
  }
  // The names in the namespaces that a test makes (security modules add their own).
  std::vector<std::string> Names(std::string_view path) {
    std::vector<std::string> names;
    for (std::string& name : Value(fs().ListXattrs(path))) {
      if (name.starts_with("user.") || name.starts_with("trusted.")) names.push_back(name);
    }
    return names;
  }
};
AGENTFS_FOR_ALL_SUBJECTS(XattrTest);

TEST_P(XattrTest, SetGetListRemove) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  for (const char* path : {"f", "d"}) {
    EXPECT_TRUE(Names(path).empty());
    EXPECT_OK(fs().SetXattr(path, "user.a", "one"));
    EXPECT_OK(fs().SetXattr(path, "user.b", std::string("\0\xff\n", 3)));
    EXPECT_OK(fs().SetXattr(path, "user.empty", ""));
    EXPECT_THAT(Names(path), UnorderedElementsAre("user.a", "user.b", "user.empty"));
    EXPECT_EQ(Value(fs().GetXattr(path, "user.a")), "one");
    EXPECT_EQ(Value(fs().GetXattr(path, "user.b")), std::string("\0\xff\n", 3));
    EXPECT_EQ(Value(fs().GetXattr(path, "user.empty")), "");
    EXPECT_OK(fs().SetXattr(path, "user.a", "two"));
    EXPECT_EQ(Value(fs().GetXattr(path, "user.a")), "two");
    EXPECT_OK(fs().RemoveXattr(path, "user.b"));
    EXPECT_THAT(Names(path), UnorderedElementsAre("user.a", "user.empty"));
  }
}

TEST_P(XattrTest, ExistingOnesAreSeenAndChanged) {
  Value(setup().WriteFile("f", "content"));
  Value(setup().SetXattr("f", "user.kept", "1"));
  Value(setup().SetXattr("f", "user.changed", "2"));
  Value(setup().SetXattr("f", "user.removed", "3"));
  EXPECT_THAT(Names("f"), UnorderedElementsAre("user.kept", "user.changed", "user.removed"));
  EXPECT_OK(fs().SetXattr("f", "user.changed", "two"));
  EXPECT_OK(fs().RemoveXattr("f", "user.removed"));
  EXPECT_OK(fs().SetXattr("f", "user.added", "4"));
  EXPECT_THAT(Names("f"), UnorderedElementsAre("user.kept", "user.changed", "user.added"));
  EXPECT_EQ(Value(fs().GetXattr("f", "user.kept")), "1");
  EXPECT_EQ(Value(fs().GetXattr("f", "user.changed")), "two");
  EXPECT_ERRNO(fs().GetXattr("f", "user.removed"), ENODATA);
  EXPECT_EQ(Content("f"), "content");
  EXPECT_OK(fs().Rename("f", "g"));
  EXPECT_EQ(Value(fs().GetXattr("g", "user.kept")), "1");
}

TEST_P(XattrTest, WritingContentKeepsThem) {
  Value(setup().WriteFile("f", "content"));
  Value(setup().SetXattr("f", "user.x", "1"));
  Value(Open("f", O_RDWR)->Write(0, "C"));
  EXPECT_EQ(Value(fs().GetXattr("f", "user.x")), "1");
  Open("f", O_RDWR | O_TRUNC);
  EXPECT_EQ(Value(fs().GetXattr("f", "user.x")), "1");
}

TEST_P(XattrTest, CreateAndReplace) {
  Value(setup().WriteFile("f", ""));
  Value(setup().SetXattr("f", "user.there", "1"));
  EXPECT_ERRNO(fs().SetXattr("f", "user.there", "2", XattrMode::kCreate), EEXIST);
  EXPECT_ERRNO(fs().SetXattr("f", "user.new", "2", XattrMode::kReplace), ENODATA);
  EXPECT_OK(fs().SetXattr("f", "user.there", "3", XattrMode::kReplace));
  EXPECT_OK(fs().SetXattr("f", "user.new", "4", XattrMode::kCreate));
  EXPECT_EQ(Value(fs().GetXattr("f", "user.there")), "3");
  EXPECT_EQ(Value(fs().GetXattr("f", "user.new")), "4");
}

TEST_P(XattrTest, MissingOnes) {
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().GetXattr("f", "user.x"), ENODATA);
  EXPECT_ERRNO(fs().RemoveXattr("f", "user.x"), ENODATA);
  EXPECT_ERRNO(fs().GetXattr("missing", "user.x"), ENOENT);
  EXPECT_ERRNO(fs().SetXattr("missing", "user.x", ""), ENOENT);
}

TEST_P(XattrTest, NamesAndNamespaces) {
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().SetXattr("f", "nonsense.x", ""), EOPNOTSUPP);
  EXPECT_ERRNO(fs().GetXattr("f", "nonsense.x"), EOPNOTSUPP);
  EXPECT_ERRNO(fs().RemoveXattr("f", "nonsense.x"), EOPNOTSUPP);
  EXPECT_ERRNO(fs().SetXattr("f", "nodot", ""), EOPNOTSUPP);
  EXPECT_ERRNO(fs().SetXattr("f", "user.", ""), EINVAL);
  EXPECT_ERRNO(fs().SetXattr("f", "", ""), ERANGE);
  const std::string longest = "user." + std::string(250, 'n');
  EXPECT_OK(fs().SetXattr("f", longest, "x"));
  EXPECT_EQ(Value(fs().GetXattr("f", longest)), "x");
  EXPECT_ERRNO(fs().SetXattr("f", longest + "n", "x"), ERANGE);
  EXPECT_ERRNO(fs().GetXattr("f", longest + "n"), ERANGE);
}

TEST_P(XattrTest, ValuesHaveAtMost64KiB) {
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().SetXattr("f", "user.x", std::string(65537, 'v')), E2BIG);
  const auto largest = fs().SetXattr("f", "user.x", std::string(65536, 'v'));
  // What one block or the inode holds, in many native filesystems.
  if (native() && (largest.code() == ENOSPC || largest.code() == E2BIG)) return;
  EXPECT_OK(largest);
  EXPECT_EQ(Value(fs().GetXattr("f", "user.x")), std::string(65536, 'v'));
}

TEST_P(XattrTest, UserXattrsAreForFilesAndDirectories) {
  Value(setup().MakeSymlink("x", "l"));
  Value(setup().MakeNode("p", S_IFIFO | 0644, 0));
  for (const char* path : {"l", "p"}) {
    EXPECT_ERRNO(fs().SetXattr(path, "user.x", "1"), EPERM) << path;
    EXPECT_ERRNO(fs().GetXattr(path, "user.x"), ENODATA) << path;
  }
}

TEST_P(XattrTest, UserXattrsFollowPermissions) {
  NEEDS_OTHERS();
  for (const char* name : {"readable", "private", "writable"}) {
    Value(setup().WriteFile(name, ""));
    Value(setup().SetXattr(name, "user.x", "1"));
  }
  Value(setup().Chmod("private", 0600));
  Value(setup().Chmod("writable", 0666));
  As as(fs(), kAlice);
  EXPECT_EQ(Value(fs().GetXattr("readable", "user.x")), "1");
  EXPECT_ERRNO(fs().SetXattr("readable", "user.x", "2"), EACCES);
  EXPECT_ERRNO(fs().RemoveXattr("readable", "user.x"), EACCES);
  EXPECT_ERRNO(fs().GetXattr("private", "user.x"), EACCES);
  EXPECT_OK(fs().SetXattr("writable", "user.x", "2"));
  EXPECT_OK(fs().RemoveXattr("writable", "user.x"));
}

TEST_P(XattrTest, UserXattrsOfStickyDirectoriesAreTheOwners) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("t"));
  Value(setup().Chmod("t", 01777));
  EXPECT_OK(fs().SetXattr("t", "user.x", "1"));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().SetXattr("t", "user.x", "2"), EPERM);
  EXPECT_EQ(Value(fs().GetXattr("t", "user.x")), "1");
}

TEST_P(XattrTest, TrustedXattrsAreRootsOnly) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", ""));
  Value(setup().Chmod("f", 0666));
  const auto set = setup().SetXattr("f", "trusted.x", "1");
  if (set.code() == EPERM) GTEST_SKIP() << "this process may not set trusted xattrs";
  Value(set);
  EXPECT_EQ(Value(fs().GetXattr("f", "trusted.x")), "1");
  EXPECT_THAT(Names("f"), UnorderedElementsAre("trusted.x"));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().GetXattr("f", "trusted.x"), ENODATA);
  EXPECT_ERRNO(fs().SetXattr("f", "trusted.x", "2"), EPERM);
  EXPECT_ERRNO(fs().RemoveXattr("f", "trusted.x"), EPERM);
  EXPECT_TRUE(Names("f").empty());
}

TEST_P(XattrTest, LinksAndSpecialFilesHaveTrustedOnes) {
  NEEDS_OTHERS();
  Value(setup().MakeSymlink("x", "l"));
  const auto set = setup().SetXattr("l", "trusted.x", "1");
  if (set.code() == EPERM) GTEST_SKIP() << "this process may not set trusted xattrs";
  Value(set);
  EXPECT_EQ(Value(fs().GetXattr("l", "trusted.x")), "1");
  EXPECT_OK(fs().RemoveXattr("l", "trusted.x"));
  EXPECT_EQ(Value(fs().ReadLink("l")), "x");
}

TEST_P(XattrTest, ManyOfThem) {
  Value(setup().WriteFile("f", ""));
  // As many as fit in one block of the oracle.
  for (int i = 0; i < 60; ++i) {
    EXPECT_OK(fs().SetXattr("f", "user.n" + std::to_string(i), std::to_string(i * i)));
  }
  EXPECT_EQ(Names("f").size(), 60u);
  for (int i = 0; i < 60; i += 2) EXPECT_OK(fs().RemoveXattr("f", "user.n" + std::to_string(i)));
  EXPECT_EQ(Names("f").size(), 30u);
  EXPECT_EQ(Value(fs().GetXattr("f", "user.n59")), "3481");
}

TEST_P(XattrTest, TouchesCtimeOnly) {
  Value(setup().WriteFile("f", ""));
  Attr before = Stat("f");
  Tick();
  EXPECT_OK(fs().SetXattr("f", "user.x", "1"));
  ExpectTouched(before, Stat("f"), kCtime, "f");
  before = Stat("f");
  Tick();
  EXPECT_OK(fs().RemoveXattr("f", "user.x"));
  ExpectTouched(before, Stat("f"), kCtime, "f");
}

}  // namespace
}  // namespace agentfs::posix
