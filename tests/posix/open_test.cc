// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "posix_test.h"

namespace agentfs::posix {
namespace {

class OpenTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(OpenTest);

TEST_P(OpenTest, CreateMakesAnEmptyRegularFile) {
  auto file = Open("f", O_RDWR | O_CREAT | O_EXCL, 0640);
  const Attr attr = Value(file->Stat());
  EXPECT_EQ(attr.mode, S_IFREG | 0640u);
  EXPECT_EQ(attr.size, 0u);
  EXPECT_EQ(attr.nlink, 1u);
  EXPECT_EQ(attr.uid, fs().identity().uid);
  EXPECT_EQ(attr.gid, fs().identity().gid);
  EXPECT_EQ(Stat("f").node.value, attr.node.value);
}

TEST_P(OpenTest, UmaskTakesBitsAway) {
  Identity strict = fs().identity();
  strict.umask = 0137;
  As as(fs(), strict);
  Open("f", O_RDWR | O_CREAT, 0777);
  EXPECT_EQ(Mode("f"), 0640u);
}

TEST_P(OpenTest, CreateKeepsSetuidAndSticky) {
  Open("f", O_RDWR | O_CREAT, 05755);
  EXPECT_EQ(Mode("f"), 05755u);
}

TEST_P(OpenTest, ExclusiveCreateOfExistingIsRefused) {
  Value(setup().WriteFile("f", "old"));
  EXPECT_ERRNO(fs().Open("f", O_RDWR | O_CREAT | O_EXCL), EEXIST);
  EXPECT_EQ(Content("f"), "old");
}

TEST_P(OpenTest, ExclusiveCreateDoesNotFollowALink) {
  Value(setup().MakeSymlink("missing", "l"));
  EXPECT_ERRNO(fs().Open("l", O_RDWR | O_CREAT | O_EXCL), EEXIST);
}

TEST_P(OpenTest, CreateOfExistingOpensIt) {
  Value(setup().WriteFile("f", "old", 0600));
  auto file = Open("f", O_RDWR | O_CREAT, 0777);
  EXPECT_EQ(Value(file->Read(0, 10)), "old");
  EXPECT_EQ(Mode("f"), 0600u);
}

TEST_P(OpenTest, TruncateEmptiesTheFile) {
  Value(setup().WriteFile("f", Pattern(70000)));
  Open("f", O_WRONLY | O_TRUNC);
  EXPECT_EQ(Stat("f").size, 0u);
  EXPECT_EQ(Content("f"), "");
}

TEST_P(OpenTest, TruncateOfAnEmptyFileUpdatesTimes) {
  Value(setup().WriteFile("f", ""));
  const Attr before = Stat("f");
  Tick();
  Open("f", O_WRONLY | O_TRUNC);
  ExpectTouched(before, Stat("f"), kBoth, "f");
}

TEST_P(OpenTest, MissingNames) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().Open("x", O_RDONLY), ENOENT);
  EXPECT_ERRNO(fs().Open("d/x", O_RDONLY), ENOENT);
  EXPECT_ERRNO(fs().Open("x/y", O_RDONLY), ENOENT);
  EXPECT_ERRNO(fs().Open("x/y", O_RDWR | O_CREAT), ENOENT);
  EXPECT_ERRNO(fs().Open("f/y", O_RDONLY), ENOTDIR);
  EXPECT_ERRNO(fs().Open("f/y", O_RDWR | O_CREAT), ENOTDIR);
}

TEST_P(OpenTest, DirectoriesAreNotForWriting) {
  Value(setup().MakeDirectory("d"));
  EXPECT_ERRNO(fs().Open("d", O_WRONLY), EISDIR);
  EXPECT_ERRNO(fs().Open("d", O_RDWR), EISDIR);
  EXPECT_ERRNO(fs().Open("d", O_RDWR | O_CREAT), EISDIR);
  EXPECT_ERRNO(fs().Open("d", O_RDONLY | O_TRUNC), EISDIR);
  EXPECT_OK(fs().Open("d", O_RDONLY));
}

TEST_P(OpenTest, DirectoryFlagRefusesFiles) {
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().Open("f", O_RDONLY | O_DIRECTORY), ENOTDIR);
}

TEST_P(OpenTest, NamesHaveAtMost255Bytes) {
  const std::string longest(255, 'n');
  const std::string longer(256, 'n');
  Value(setup().WriteFile(longest, "x"));
  EXPECT_EQ(Content(longest), "x");
  EXPECT_ERRNO(fs().Open(longer, O_RDONLY), ENAMETOOLONG);
  EXPECT_ERRNO(fs().Open(longer, O_RDWR | O_CREAT), ENAMETOOLONG);
  EXPECT_ERRNO(fs().Stat(longer), ENAMETOOLONG);
}

TEST_P(OpenTest, NamesAreBytes) {
  const std::vector<std::string> names = {"back\\slash", "new\nline", "\xff\xfe", " ",
                                          "-",           "...",       "\x01\x7f", "caf\xc3\xa9",
                                          "*",           "a b",       ".hidden",  "\xe2\x82"};
  for (const std::string& name : names) Value(setup().WriteFile(name, name));
  EXPECT_THAT(Names(""), testing::UnorderedElementsAreArray(names));
  for (const std::string& name : names) EXPECT_EQ(Content(name), name);
}

TEST_P(OpenTest, LinksAreFollowed) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "content"));
  Value(setup().MakeSymlink("d", "to-d"));
  Value(setup().MakeSymlink("to-d/f", "to-f"));
  Value(setup().MakeSymlink("../to-f", "d/back"));
  EXPECT_EQ(Content("to-f"), "content");
  EXPECT_EQ(Content("to-d/f"), "content");
  EXPECT_EQ(Content("to-d/back"), "content");
}

TEST_P(OpenTest, CreateThroughADanglingLinkMakesTheTarget) {
  Value(setup().MakeSymlink("target", "l"));
  Open("l", O_RDWR | O_CREAT);
  EXPECT_EQ(Stat("target").mode & S_IFMT, static_cast<uint32_t>(S_IFREG));
}

TEST_P(OpenTest, NoFollowRefusesLinks) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeSymlink("f", "l"));
  EXPECT_ERRNO(fs().Open("l", O_RDONLY | O_NOFOLLOW), ELOOP);
}

TEST_P(OpenTest, AtMost40LinksAreFollowed) {
  Value(setup().WriteFile("l0", "end"));
  for (int i = 1; i <= 41; ++i) {
    Value(setup().MakeSymlink("l" + std::to_string(i - 1), "l" + std::to_string(i)));
  }
  Value(setup().MakeSymlink("self", "self"));
  EXPECT_EQ(Content("l40"), "end");
  EXPECT_ERRNO(fs().Open("l41", O_RDONLY), ELOOP);
  EXPECT_ERRNO(fs().Open("self", O_RDONLY), ELOOP);
}

TEST_P(OpenTest, PermissionBitsOfOwnerGroupAndOthers) {
  NEEDS_OTHERS();
  struct {
    const char* name;
    uint32_t mode;
    bool owner_reads, member_reads, other_reads;
  } const cases[] = {
      {"u", 0400, true, false, false}, {"g", 0040, false, true, false},
      {"o", 0004, false, false, true}, {"ug", 0440, true, true, false},
      {"all", 0444, true, true, true}, {"none", 0000, false, false, false},
  };
  for (const auto& c : cases) {
    Value(setup().WriteFile(c.name, "x"));
    Value(setup().Chown(c.name, kAlice.uid, kTeam));
    Value(setup().Chmod(c.name, c.mode));
  }
  const auto read = [&](const Identity& who, const char* name) {
    As as(fs(), who);
    return ErrnoName(fs().Open(name, O_RDONLY).code());
  };
  const auto expected = [](bool allowed) { return allowed ? "0" : "EACCES"; };
  for (const auto& c : cases) {
    EXPECT_EQ(read(kAlice, c.name), expected(c.owner_reads)) << c.name;
    EXPECT_EQ(read(kBobInTeam, c.name), expected(c.member_reads)) << c.name;
    EXPECT_EQ(read(kBob, c.name), expected(c.other_reads)) << c.name;
    EXPECT_EQ(read(kRoot, c.name), "0") << c.name;
  }
}

TEST_P(OpenTest, WritingNeedsTheWriteBit) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", "x"));
  Value(setup().Chown("f", kAlice.uid, kAlice.gid));
  Value(setup().Chmod("f", 0444));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Open("f", O_WRONLY), EACCES);
  EXPECT_ERRNO(fs().Open("f", O_RDWR), EACCES);
  EXPECT_ERRNO(fs().Open("f", O_RDONLY | O_TRUNC), EACCES);
  EXPECT_EQ(Content("f"), "x");
}

TEST_P(OpenTest, DirectoriesMustBeSearchable) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "x"));
  Value(setup().Chown("d", kAlice.uid, kAlice.gid));
  Value(setup().Chmod("d", 0600));
  {
    As as(fs(), kAlice);
    EXPECT_ERRNO(fs().Open("d/f", O_RDONLY), EACCES);
    EXPECT_ERRNO(fs().Open("d/missing", O_RDONLY), EACCES);
    EXPECT_ERRNO(fs().Stat("d/f"), EACCES);
    EXPECT_EQ(Names("d"), std::vector<std::string>{"f"});
  }
  EXPECT_EQ(Content("d/f"), "x");
}

TEST_P(OpenTest, CreatingNeedsAWritableDirectory) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "x", 0666));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Open("d/new", O_RDWR | O_CREAT), EACCES);
  EXPECT_ERRNO(fs().Open("d/f", O_RDWR | O_CREAT | O_EXCL), EEXIST);
  EXPECT_EQ(Names("d"), std::vector<std::string>{"f"});
}

TEST_P(OpenTest, TheCreatorMayWriteAReadOnlyFile) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().Chmod("d", 0777));
  As as(fs(), kAlice);
  auto file = Open("d/f", O_RDWR | O_CREAT, 0444);
  EXPECT_EQ(Value(file->Write(0, "abc")), 3u);
  EXPECT_EQ(Value(file->Read(0, 3)), "abc");
  EXPECT_ERRNO(fs().Open("d/f", O_RDWR), EACCES);
}

TEST_P(OpenTest, AnOpenFileKeepsItsRights) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", "abc"));
  Value(setup().Chown("f", kAlice.uid, kAlice.gid));
  As as(fs(), kAlice);
  auto file = Open("f", O_RDWR);
  Value(fs().Chmod("f", 0));
  EXPECT_EQ(Value(file->Write(3, "def")), 3u);
  EXPECT_EQ(Value(file->Read(0, 6)), "abcdef");
  EXPECT_ERRNO(fs().Open("f", O_RDONLY), EACCES);
}

TEST_P(OpenTest, NewFilesBelongToTheCaller) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().Chmod("d", 0777));
  As as(fs(), kAliceInTeam);
  Open("d/f", O_RDWR | O_CREAT);
  EXPECT_EQ(Stat("d/f").uid, kAlice.uid);
  EXPECT_EQ(Stat("d/f").gid, kAlice.gid);
}

TEST_P(OpenTest, SetgidDirectoryGivesItsGroup) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().Chown("d", 0, kTeam));
  Value(setup().Chmod("d", 02777));
  As as(fs(), kAlice);
  Open("d/f", O_RDWR | O_CREAT, 0755);
  EXPECT_EQ(Stat("d/f").gid, kTeam);
  EXPECT_EQ(Mode("d/f"), 0755u);
  // Nobody makes a set-group-id program of a group that he is not in.
  Open("d/program", O_RDWR | O_CREAT, 02755);
  EXPECT_EQ(Mode("d/program"), 0755u);
  As member(fs(), kAliceInTeam);
  Open("d/mine", O_RDWR | O_CREAT, 02755);
  EXPECT_EQ(Mode("d/mine"), 02755u);
}

TEST_P(OpenTest, CreatingTouchesTheDirectory) {
  Value(setup().MakeDirectory("d"));
  const Attr before = Stat("d");
  Tick();
  Open("d/f", O_RDWR | O_CREAT);
  ExpectTouched(before, Stat("d"), kBoth, "d");
  const Attr made = Stat("d/f");
  EXPECT_FALSE(made.mtime < before.mtime);
  EXPECT_EQ(made.mtime, made.ctime);
}

TEST_P(OpenTest, OpeningTouchesNothing) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "x"));
  const Attr directory = Stat("d");
  const Attr file = Stat("d/f");
  Tick();
  Open("d/f", O_RDWR | O_CREAT);
  ExpectTouched(directory, Stat("d"), kNothing, "d");
  ExpectTouched(file, Stat("d/f"), kNothing, "d/f");
}

TEST_P(OpenTest, UnnamedFileGetsAName) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  auto opened = fs().Open("d", O_RDWR | O_TMPFILE, 0600);
  if (native() && opened.code() == EOPNOTSUPP) GTEST_SKIP() << "the directory has no O_TMPFILE";
  auto file = Value(std::move(opened));
  Value(file->Write(0, "content"));
  EXPECT_EQ(Value(file->Stat()).nlink, 0u);
  EXPECT_TRUE(Names("d").empty());
  EXPECT_OK(fs().LinkOpen(*file, "d/f"));
  EXPECT_EQ(Value(file->Stat()).nlink, 1u);
  EXPECT_EQ(Content("d/f"), "content");
  EXPECT_OK(fs().LinkOpen(*file, "d/g"));
  EXPECT_EQ(Stat("d/g").nlink, 2u);
}

TEST_P(OpenTest, UnnamedFileNeedsAWritableDirectory) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().Open("f", O_RDWR | O_TMPFILE, 0600), ENOTDIR);
  As as(fs(), kAlice);
  auto opened = fs().Open("d", O_RDWR | O_TMPFILE, 0600);
  if (native() && opened.code() == EOPNOTSUPP) GTEST_SKIP() << "the directory has no O_TMPFILE";
  EXPECT_ERRNO(opened, EACCES);
}

}  // namespace
}  // namespace agentfs::posix
