// SPDX-License-Identifier: Apache-2.0
//
// mkdir(2), rmdir(2).
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class MakeDirectoryTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(MakeDirectoryTest);
class RemoveDirectoryTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(RemoveDirectoryTest);

TEST_P(MakeDirectoryTest, MakesAnEmptyDirectory) {
  EXPECT_OK(fs().MakeDirectory("d", 0750));
  const Attr attr = Stat("d");
  EXPECT_EQ(attr.mode, S_IFDIR | 0750u);
  EXPECT_EQ(attr.uid, fs().identity().uid);
  EXPECT_TRUE(Names("d").empty());
  EXPECT_EQ(attr.mtime, attr.ctime);
}

TEST_P(MakeDirectoryTest, UmaskTakesBitsAwayAndStickyStays) {
  Identity strict = fs().identity();
  strict.umask = 027;
  As as(fs(), strict);
  EXPECT_OK(fs().MakeDirectory("d", 07777));
  EXPECT_EQ(Mode("d"), 01750u);
}

TEST_P(MakeDirectoryTest, CountsSubdirectoriesAsLinks) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", ""));
  if (native() && Stat("d").nlink == 1) GTEST_SKIP() << "this filesystem does not count";
  EXPECT_EQ(Stat("d").nlink, 2u);
  EXPECT_OK(fs().MakeDirectory("d/a"));
  EXPECT_OK(fs().MakeDirectory("d/b"));
  EXPECT_EQ(Stat("d").nlink, 4u);
  EXPECT_EQ(Stat("d/a").nlink, 2u);
  EXPECT_OK(fs().RemoveDirectory("d/a"));
  EXPECT_EQ(Stat("d").nlink, 3u);
}

TEST_P(MakeDirectoryTest, Errors) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeSymlink("missing", "l"));
  EXPECT_ERRNO(fs().MakeDirectory("d"), EEXIST);
  EXPECT_ERRNO(fs().MakeDirectory("f"), EEXIST);
  EXPECT_ERRNO(fs().MakeDirectory("l"), EEXIST);
  EXPECT_ERRNO(fs().MakeDirectory("x/y"), ENOENT);
  EXPECT_ERRNO(fs().MakeDirectory("f/y"), ENOTDIR);
  EXPECT_ERRNO(fs().MakeDirectory(std::string(256, 'n')), ENAMETOOLONG);
  EXPECT_OK(fs().MakeDirectory(std::string(255, 'n')));
}

TEST_P(MakeDirectoryTest, NeedsAWritableParent) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeDirectory("d/there"));
  Value(setup().MakeDirectory("blind"));
  Value(setup().Chmod("blind", 0772));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().MakeDirectory("d/x"), EACCES);
  EXPECT_ERRNO(fs().MakeDirectory("d/there"), EEXIST);
  EXPECT_ERRNO(fs().MakeDirectory("blind/x"), EACCES);
}

TEST_P(MakeDirectoryTest, SetgidIsInherited) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().Chown("d", 0, kTeam));
  Value(setup().Chmod("d", 02777));
  As as(fs(), kAlice);
  EXPECT_OK(fs().MakeDirectory("d/sub", 0755));
  EXPECT_EQ(Stat("d/sub").gid, kTeam);
  EXPECT_EQ(Stat("d/sub").uid, kAlice.uid);
  EXPECT_EQ(Mode("d/sub"), 02755u);
  EXPECT_OK(fs().MakeDirectory("d/sub/deeper", 0700));
  EXPECT_EQ(Stat("d/sub/deeper").gid, kTeam);
  EXPECT_EQ(Mode("d/sub/deeper"), 02700u);
}

TEST_P(MakeDirectoryTest, TouchesTheParent) {
  Value(setup().MakeDirectory("d"));
  const Attr before = Stat("d");
  Tick();
  EXPECT_OK(fs().MakeDirectory("d/x"));
  ExpectTouched(before, Stat("d"), kBoth, "d");
}

TEST_P(MakeDirectoryTest, DeepTrees) {
  std::string path = "d";
  Value(setup().MakeDirectory(path));
  for (int i = 0; i < 50; ++i) {
    path += "/d";
    Value(setup().MakeDirectory(path));
  }
  Value(setup().WriteFile(path + "/f", "deep"));
  EXPECT_EQ(Content(path + "/f"), "deep");
  EXPECT_OK(fs().MakeDirectory(path + "/deeper"));
  EXPECT_THAT(Names(path), testing::ElementsAre("deeper", "f"));
}

TEST_P(RemoveDirectoryTest, RemovesAnEmptyDirectory) {
  Value(setup().MakeDirectory("d"));
  EXPECT_OK(fs().RemoveDirectory("d"));
  EXPECT_ERRNO(fs().Stat("d"), ENOENT);
  EXPECT_TRUE(Names("").empty());
}

TEST_P(RemoveDirectoryTest, Errors) {
  Value(setup().MakeDirectory("full"));
  Value(setup().WriteFile("full/f", ""));
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeSymlink("d", "l"));
  EXPECT_ERRNO(fs().RemoveDirectory("full"), ENOTEMPTY);
  EXPECT_ERRNO(fs().RemoveDirectory("f"), ENOTDIR);
  EXPECT_ERRNO(fs().RemoveDirectory("l"), ENOTDIR);
  EXPECT_ERRNO(fs().RemoveDirectory("missing"), ENOENT);
  EXPECT_ERRNO(fs().RemoveDirectory("f/x"), ENOTDIR);
  EXPECT_ERRNO(fs().RemoveDirectory(std::string(256, 'n')), ENAMETOOLONG);
}

TEST_P(RemoveDirectoryTest, ADirectoryThatWasEmptiedGoes) {
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeDirectory("d/sub"));
  for (int i = 0; i < 20; ++i) Value(setup().WriteFile("d/f" + std::to_string(i), "x"));
  EXPECT_ERRNO(fs().RemoveDirectory("d"), ENOTEMPTY);
  for (int i = 0; i < 20; ++i) EXPECT_OK(fs().Unlink("d/f" + std::to_string(i)));
  EXPECT_ERRNO(fs().RemoveDirectory("d"), ENOTEMPTY);
  EXPECT_OK(fs().RemoveDirectory("d/sub"));
  EXPECT_OK(fs().RemoveDirectory("d"));
}

TEST_P(RemoveDirectoryTest, ADirectoryMadeAgainIsEmpty) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "old"));
  Value(setup().MakeDirectory("d/sub"));
  Value(setup().WriteFile("d/sub/g", "old"));
  EXPECT_OK(fs().Unlink("d/sub/g"));
  EXPECT_OK(fs().RemoveDirectory("d/sub"));
  EXPECT_OK(fs().Unlink("d/f"));
  EXPECT_OK(fs().RemoveDirectory("d"));
  EXPECT_OK(fs().MakeDirectory("d"));
  EXPECT_TRUE(Names("d").empty());
  EXPECT_ERRNO(fs().Stat("d/f"), ENOENT);
  EXPECT_OK(fs().MakeDirectory("d/sub"));
  EXPECT_TRUE(Names("d/sub").empty());
  EXPECT_ERRNO(fs().Stat("d/sub/g"), ENOENT);
}

TEST_P(RemoveDirectoryTest, NeedsAWritableParent) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeDirectory("d/x"));
  Value(setup().Chown("d/x", kAlice.uid, kAlice.gid));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().RemoveDirectory("d/x"), EACCES);
  EXPECT_ERRNO(fs().RemoveDirectory("d/missing"), ENOENT);
}

TEST_P(RemoveDirectoryTest, StickyParentsProtectOthersDirectories) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("t"));
  Value(setup().Chmod("t", 01777));
  for (const char* name : {"t/alice", "t/bob"}) Value(setup().MakeDirectory(name));
  Value(setup().Chown("t/alice", kAlice.uid, kAlice.gid));
  Value(setup().Chown("t/bob", kBob.uid, kBob.gid));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().RemoveDirectory("t/bob"), EPERM);
  EXPECT_OK(fs().RemoveDirectory("t/alice"));
}

TEST_P(RemoveDirectoryTest, NothingCanBeMadeInARemovedDirectory) {
  Value(setup().MakeDirectory("d"));
  auto directory = Open("d", O_RDONLY);
  EXPECT_OK(fs().RemoveDirectory("d"));
  EXPECT_EQ(Value(directory->Stat()).nlink, 0u);
  const auto listed = directory->List(0, 10);
  EXPECT_TRUE(listed.code() == ENOENT || (listed.ok() && listed->empty()));
}

TEST_P(RemoveDirectoryTest, TouchesTheParent) {
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeDirectory("d/x"));
  const Attr before = Stat("d");
  Tick();
  EXPECT_OK(fs().RemoveDirectory("d/x"));
  ExpectTouched(before, Stat("d"), kBoth, "d");
}

}  // namespace
}  // namespace agentfs::posix
