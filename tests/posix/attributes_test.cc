// SPDX-License-Identifier: Apache-2.0
//
// chmod(2), chown(2), utimensat(2), stat(2).
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class ChmodTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(ChmodTest);
class ChownTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(ChownTest);
class SetTimesTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(SetTimesTest);
class StatTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(StatTest);

TEST_P(ChmodTest, SetsAllBitsAndKeepsTheType) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  for (uint32_t mode : {0u, 0777u, 04755u, 01777u, 0640u}) {
    EXPECT_OK(fs().Chmod("f", mode));
    EXPECT_OK(fs().Chmod("d", mode));
    EXPECT_EQ(Stat("f").mode, S_IFREG | mode);
    EXPECT_EQ(Stat("d").mode, S_IFDIR | mode);
  }
}

TEST_P(ChmodTest, FollowsLinks) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeSymlink("f", "l"));
  EXPECT_OK(fs().Chmod("l", 0600));
  EXPECT_EQ(Mode("f"), 0600u);
  EXPECT_EQ(Mode("l"), 0777u);
}

TEST_P(ChmodTest, KeepsContentTimesAndNode) {
  Value(setup().WriteFile("f", Pattern(100000)));
  Value(setup().SetTimes("f", TimeChange::Set(1000, 1), TimeChange::Set(2000, 2)));
  Value(setup().SetXattr("f", "user.x", "y"));
  const Attr before = Stat("f");
  Tick();
  EXPECT_OK(fs().Chmod("f", 0600));
  const Attr after = Stat("f");
  ExpectTouched(before, after, kCtime, "f");
  EXPECT_EQ(after.mtime, (Timestamp{2000, 2}));
  EXPECT_EQ(after.atime, (Timestamp{1000, 1}));
  EXPECT_EQ(after.node.value, before.node.value);
  EXPECT_EQ(after.size, 100000u);
  EXPECT_EQ(Value(fs().GetXattr("f", "user.x")), "y");
  EXPECT_TRUE(Content("f") == Pattern(100000));
}

TEST_P(ChmodTest, IsForTheOwner) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", "", 0644));
  Value(setup().Chmod("f", 0666));
  Value(setup().Chown("f", kAlice.uid, kAlice.gid));
  {
    As as(fs(), kBob);
    EXPECT_ERRNO(fs().Chmod("f", 0777), EPERM);
  }
  {
    As as(fs(), kAlice);
    EXPECT_OK(fs().Chmod("f", 0400));
  }
  EXPECT_EQ(Mode("f"), 0400u);
}

TEST_P(ChmodTest, SetgidIsForMembersOfTheGroup) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", ""));
  Value(setup().Chown("f", kAlice.uid, kTeam));
  {
    As as(fs(), kAlice);
    EXPECT_OK(fs().Chmod("f", 06755));
    EXPECT_EQ(Mode("f"), 04755u);
  }
  {
    As as(fs(), kAliceInTeam);
    EXPECT_OK(fs().Chmod("f", 06755));
    EXPECT_EQ(Mode("f"), 06755u);
  }
  EXPECT_OK(fs().Chmod("f", 02750));
  EXPECT_EQ(Mode("f"), 02750u);
}

TEST_P(ChownTest, RootGivesAndTakes) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", Pattern(70000)));
  EXPECT_OK(fs().Chown("f", kAlice.uid, kTeam));
  EXPECT_EQ(Stat("f").uid, kAlice.uid);
  EXPECT_EQ(Stat("f").gid, kTeam);
  EXPECT_OK(fs().Chown("f", kKeep, kBob.gid));
  EXPECT_EQ(Stat("f").uid, kAlice.uid);
  EXPECT_EQ(Stat("f").gid, kBob.gid);
  EXPECT_OK(fs().Chown("f", kBob.uid, kKeep));
  EXPECT_EQ(Stat("f").uid, kBob.uid);
  EXPECT_TRUE(Content("f") == Pattern(70000));
}

TEST_P(ChownTest, TheOwnerChoosesAmongHisGroups) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", ""));
  Value(setup().Chown("f", kAlice.uid, kAlice.gid));
  As as(fs(), kAliceInTeam);
  EXPECT_OK(fs().Chown("f", kKeep, kTeam));
  EXPECT_EQ(Stat("f").gid, kTeam);
  EXPECT_OK(fs().Chown("f", kAlice.uid, kAlice.gid));
  EXPECT_ERRNO(fs().Chown("f", kKeep, kBob.gid), EPERM);
  EXPECT_ERRNO(fs().Chown("f", kBob.uid, kKeep), EPERM);
  EXPECT_EQ(Stat("f").gid, kAlice.gid);
}

TEST_P(ChownTest, OthersMayNot) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", ""));
  Value(setup().Chmod("f", 0666));
  As as(fs(), kAliceInTeam);
  EXPECT_ERRNO(fs().Chown("f", kAlice.uid, kKeep), EPERM);
  EXPECT_ERRNO(fs().Chown("f", kKeep, kTeam), EPERM);
}

TEST_P(ChownTest, ClearsSetuidOfFiles) {
  NEEDS_OTHERS();
  for (const char* name : {"by-owner", "by-root", "not-executable"}) {
    Value(setup().WriteFile(name, ""));
    Value(setup().Chown(name, kAlice.uid, kAlice.gid));
    Value(setup().Chmod(name, 06755));
  }
  Value(setup().Chmod("not-executable", 06644));
  Value(setup().MakeDirectory("d"));
  Value(setup().Chmod("d", 06755));
  {
    As as(fs(), kAliceInTeam);
    EXPECT_OK(fs().Chown("by-owner", kKeep, kTeam));
  }
  EXPECT_OK(fs().Chown("by-root", 0, 0));
  EXPECT_OK(fs().Chown("not-executable", 0, 0));
  EXPECT_OK(fs().Chown("d", kAlice.uid, kAlice.gid));
  EXPECT_EQ(Mode("by-owner"), 0755u);
  EXPECT_EQ(Mode("by-root"), 0755u);
  EXPECT_EQ(Mode("not-executable"), 02644u);
  EXPECT_EQ(Mode("d"), 06755u);
}

TEST_P(ChownTest, ToNobodyNewTakesSetIdBitsFromFilesOnly) {
  NEEDS_OTHERS();
  if (!native() && !mounted()) GTEST_SKIP() << "the view is not asked: kernels change nothing so";
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  for (const char* name : {"f", "d"}) {
    Value(setup().Chown(name, kAlice.uid, kTeam));
    Value(setup().Chmod(name, name[0] == 'f' ? 04755 : 02777));
  }
  {
    As as(fs(), kBob);
    // A mount is asked the same for who writes through somebody else's descriptor, and must do it.
    if (native()) EXPECT_ERRNO(fs().Chown("f", kKeep, kKeep), EPERM);
    EXPECT_OK(fs().Chown("d", kKeep, kKeep));
    EXPECT_EQ(Mode("f"), 04755u);
    EXPECT_EQ(Mode("d"), 02777u);
  }
  As as(fs(), kAlice);
  EXPECT_OK(fs().Chown("f", kKeep, kKeep));
  EXPECT_OK(fs().Chown("d", kKeep, kKeep));
  EXPECT_EQ(Mode("f"), 0755u);
  EXPECT_EQ(Mode("d"), 02777u);
}

TEST_P(ChownTest, TouchesCtimeOnly) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", ""));
  const Attr before = Stat("f");
  Tick();
  EXPECT_OK(fs().Chown("f", kAlice.uid, kAlice.gid));
  ExpectTouched(before, Stat("f"), kCtime, "f");
}

TEST_P(SetTimesTest, NanosecondsAndFarTimes) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  const Timestamp times[] = {{0, 0},
                             {1, 999'999'999},
                             {-1, 1},
                             {-2'000'000'000, 5},
                             {2'147'483'648, 123},
                             {4'294'967'296, 7},
                             {9'000'000'000, 42}};
  for (const char* name : {"f", "d"}) {
    for (const Timestamp& time : times) {
      EXPECT_OK(fs().SetTimes(name, TimeChange::Set(time.sec + 1, time.nsec),
                              TimeChange::Set(time.sec, time.nsec)));
      const Attr attr = Stat(name);
      EXPECT_EQ(attr.mtime, time) << name << " " << time.sec;
      EXPECT_EQ(attr.atime, (Timestamp{time.sec + 1, time.nsec})) << name << " " << time.sec;
    }
  }
}

TEST_P(SetTimesTest, ExistingTimesAreShownExactly) {
  Value(setup().WriteFile("f", "x"));
  Value(setup().SetTimes("f", TimeChange::Set(-5, 1), TimeChange::Set(5'000'000'000, 999'999'999)));
  EXPECT_EQ(Stat("f").atime, (Timestamp{-5, 1}));
  EXPECT_EQ(Stat("f").mtime, (Timestamp{5'000'000'000, 999'999'999}));
}

TEST_P(SetTimesTest, NowAndOmit) {
  Value(setup().WriteFile("f", ""));
  const auto reset = [&] { Value(fs().SetTimes("f", TimeChange::Set(100), TimeChange::Set(200))); };
  reset();
  EXPECT_OK(fs().SetTimes("f", TimeChange::Omit(), TimeChange::Now()));
  EXPECT_EQ(Stat("f").atime.sec, 100);
  EXPECT_GT(Stat("f").mtime.sec, 1'000'000'000);
  reset();
  EXPECT_OK(fs().SetTimes("f", TimeChange::Now(), TimeChange::Omit()));
  EXPECT_GT(Stat("f").atime.sec, 1'000'000'000);
  EXPECT_EQ(Stat("f").mtime.sec, 200);
  reset();
  EXPECT_OK(fs().SetTimes("f", TimeChange::Set(300), TimeChange::Omit()));
  EXPECT_EQ(Stat("f").atime.sec, 300);
  EXPECT_EQ(Stat("f").mtime.sec, 200);
  EXPECT_OK(fs().SetTimes("f", TimeChange::Now(), TimeChange::Now()));
  EXPECT_GT(Stat("f").atime.sec, 1'000'000'000);
  EXPECT_EQ(Stat("f").atime, Stat("f").mtime);
}

TEST_P(SetTimesTest, UpdatesCtime) {
  Value(setup().WriteFile("f", ""));
  const Attr before = Stat("f");
  Tick();
  EXPECT_OK(fs().SetTimes("f", TimeChange::Set(1), TimeChange::Omit()));
  EXPECT_LT(before.ctime, Stat("f").ctime);
  const Attr again = Stat("f");
  Tick();
  EXPECT_OK(fs().SetTimes("f", TimeChange::Omit(), TimeChange::Omit()));
  EXPECT_EQ(Stat("f").ctime, again.ctime);
}

TEST_P(SetTimesTest, Permissions) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("writable", ""));
  Value(setup().Chmod("writable", 0666));
  Value(setup().WriteFile("readable", ""));
  Value(setup().WriteFile("mine", ""));
  Value(setup().Chmod("mine", 0));
  Value(setup().Chown("mine", kAlice.uid, kAlice.gid));
  As as(fs(), kAlice);
  const auto now = TimeChange::Now();
  EXPECT_OK(fs().SetTimes("writable", now, now));
  EXPECT_ERRNO(fs().SetTimes("writable", now, TimeChange::Omit()), EPERM);
  EXPECT_ERRNO(fs().SetTimes("writable", TimeChange::Set(1), TimeChange::Set(1)), EPERM);
  EXPECT_ERRNO(fs().SetTimes("readable", now, now), EACCES);
  EXPECT_ERRNO(fs().SetTimes("readable", TimeChange::Set(1), now), EPERM);
  EXPECT_OK(fs().SetTimes("mine", TimeChange::Set(1), TimeChange::Set(1)));
  EXPECT_OK(fs().SetTimes("mine", now, now));
}

TEST_P(SetTimesTest, AWriteAfterwardsUpdates) {
  Value(setup().WriteFile("f", "x"));
  EXPECT_OK(fs().SetTimes("f", TimeChange::Set(1), TimeChange::Set(2)));
  Value(Open("f", O_RDWR)->Write(0, "y"));
  EXPECT_GT(Stat("f").mtime.sec, 1'000'000'000);
  EXPECT_OK(fs().SetTimes("f", TimeChange::Set(1), TimeChange::Set(2)));
  EXPECT_EQ(Stat("f").mtime.sec, 2);
}

TEST_P(StatTest, TheRootIsADirectory) {
  const Attr root = Stat("");
  EXPECT_EQ(root.mode & S_IFMT, static_cast<uint32_t>(S_IFDIR));
  EXPECT_GE(root.nlink, 1u);
  EXPECT_ERRNO(fs().Stat("missing"), ENOENT);
}

TEST_P(StatTest, DotAndDotDot) {
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeDirectory("d/e"));
  const uint64_t d = Stat("d").node.value;
  EXPECT_EQ(Stat("d/.").node.value, d);
  EXPECT_EQ(Stat("d/e/..").node.value, d);
  EXPECT_EQ(Stat("d/..").node.value, Stat("").node.value);
  EXPECT_EQ(Stat("d/e/../../d").node.value, d);
}

TEST_P(StatTest, NodesDiffer) {
  Value(setup().WriteFile("a", ""));
  Value(setup().WriteFile("b", ""));
  Value(fs().WriteFile("c", ""));
  EXPECT_NE(Stat("a").node.value, Stat("b").node.value);
  EXPECT_NE(Stat("a").node.value, Stat("c").node.value);
  EXPECT_NE(Stat("a").node.value, Stat("").node.value);
}

TEST_P(StatTest, NodesStayThroughChanges) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", Pattern(70000)));
  const uint64_t file = Stat("d/f").node.value;
  const uint64_t directory = Stat("d").node.value;
  Value(Open("d/f", O_RDWR)->Write(10, "x"));
  EXPECT_EQ(Stat("d/f").node.value, file);
  EXPECT_OK(fs().Chmod("d", 0700));
  Value(fs().WriteFile("d/new", ""));
  EXPECT_EQ(Stat("d").node.value, directory);
  EXPECT_OK(fs().Rename("d", "e"));
  EXPECT_EQ(Stat("e").node.value, directory);
  EXPECT_EQ(Stat("e/f").node.value, file);
  EXPECT_OK(fs().Rename("e/f", "g"));
  EXPECT_EQ(Stat("g").node.value, file);
}

TEST_P(StatTest, OwnersOfExistingFilesAreShown) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", "x"));
  Value(setup().Chown("f", kAlice.uid, kTeam));
  Value(setup().Chmod("f", 04711));
  EXPECT_EQ(Stat("f").uid, kAlice.uid);
  EXPECT_EQ(Stat("f").gid, kTeam);
  EXPECT_EQ(Stat("f").mode, S_IFREG | 04711u);
  EXPECT_OK(fs().SetXattr("f", "user.x", "y"));
  EXPECT_EQ(Stat("f").uid, kAlice.uid);
  EXPECT_EQ(Stat("f").mode, S_IFREG | 04711u);
}

}  // namespace
}  // namespace agentfs::posix
