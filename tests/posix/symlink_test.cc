// SPDX-License-Identifier: Apache-2.0
//
// symlink(2), readlink(2).
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class SymlinkTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(SymlinkTest);

TEST_P(SymlinkTest, KeepsTheTargetAsItIs) {
  const std::vector<std::string> targets = {"a",         "/absolute/path", "../..",
                                            "a//b/./c/", "\xff\n ",        std::string(1000, 't')};
  for (size_t i = 0; i < targets.size(); ++i) {
    Value(setup().MakeSymlink(targets[i], "l" + std::to_string(i)));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::string name = "l" + std::to_string(i);
    EXPECT_EQ(Value(fs().ReadLink(name)), targets[i]);
    EXPECT_EQ(Stat(name).size, targets[i].size());
    EXPECT_EQ(Stat(name).mode, S_IFLNK | 0777u);
  }
}

TEST_P(SymlinkTest, UmaskDoesNotMatter) {
  Identity strict = fs().identity();
  strict.umask = 0777;
  As as(fs(), strict);
  EXPECT_OK(fs().MakeSymlink("t", "l"));
  EXPECT_EQ(Stat("l").mode, S_IFLNK | 0777u);
}

TEST_P(SymlinkTest, TargetsHaveAtMost4095Bytes) {
  EXPECT_OK(fs().MakeSymlink(std::string(4095, 't'), "l"));
  EXPECT_EQ(Value(fs().ReadLink("l")), std::string(4095, 't'));
  EXPECT_EQ(Stat("l").size, 4095u);
  EXPECT_ERRNO(fs().MakeSymlink(std::string(4096, 't'), "m"), ENAMETOOLONG);
  EXPECT_ERRNO(fs().MakeSymlink("", "m"), ENOENT);
  EXPECT_ERRNO(fs().Stat("m"), ENOENT);
}

TEST_P(SymlinkTest, Errors) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  EXPECT_ERRNO(fs().MakeSymlink("t", "f"), EEXIST);
  EXPECT_ERRNO(fs().MakeSymlink("t", "d"), EEXIST);
  EXPECT_ERRNO(fs().MakeSymlink("t", "x/y"), ENOENT);
  EXPECT_ERRNO(fs().MakeSymlink("t", "f/y"), ENOTDIR);
  EXPECT_ERRNO(fs().MakeSymlink("t", std::string(256, 'n')), ENAMETOOLONG);
  EXPECT_ERRNO(fs().ReadLink("f"), EINVAL);
  EXPECT_ERRNO(fs().ReadLink("d"), EINVAL);
  EXPECT_ERRNO(fs().ReadLink("missing"), ENOENT);
}

TEST_P(SymlinkTest, NeedsAWritableDirectory) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeSymlink("x", "d/l"));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().MakeSymlink("t", "d/m"), EACCES);
  EXPECT_ERRNO(fs().MakeSymlink("t", "d/l"), EEXIST);
  EXPECT_EQ(Value(fs().ReadLink("d/l")), "x");
}

TEST_P(SymlinkTest, BelongsToTheCallerAndCanBeGiven) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/t", ""));
  Value(setup().Chmod("d", 0777));
  {
    As as(fs(), kAlice);
    EXPECT_OK(fs().MakeSymlink("t", "d/l"));
  }
  EXPECT_EQ(Stat("d/l").uid, kAlice.uid);
  EXPECT_OK(fs().Chown("d/l", kBob.uid, kBob.gid));
  EXPECT_EQ(Stat("d/l").uid, kBob.uid);
  EXPECT_EQ(Stat("d/t").uid, 0u);
}

TEST_P(SymlinkTest, TimesOfTheLinkItself) {
  Value(setup().WriteFile("t", ""));
  Value(setup().MakeSymlink("t", "l"));
  EXPECT_OK(fs().SetTimes("l", TimeChange::Set(5), TimeChange::Set(6, 7)));
  EXPECT_EQ(Stat("l").mtime, (Timestamp{6, 7}));
  EXPECT_GT(Stat("t").mtime.sec, 1000);
}

TEST_P(SymlinkTest, TouchesTheDirectory) {
  Value(setup().MakeDirectory("d"));
  const Attr before = Stat("d");
  Tick();
  EXPECT_OK(fs().MakeSymlink("t", "d/l"));
  ExpectTouched(before, Stat("d"), kBoth, "d");
}

}  // namespace
}  // namespace agentfs::posix
