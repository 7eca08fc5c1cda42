// SPDX-License-Identifier: Apache-2.0
//
// mount and umount: what works, and what is refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "device_mode.h"
#include "mounted.h"

namespace agentfs {
namespace {

using testing::HasSubstr;

TEST_F(MountCliTest, ShowsABranchAndSavesWhatIsWritten) {
  EXPECT_THAT(Mount().out, HasSubstr("branch main"));
  EXPECT_EQ(Read(InMount("README")), "read me\n");
  Write(InMount("new"), "made here");
  Unmount();
  EXPECT_FALSE(IsMounted(At("mnt")));
  WaitForNoServer();
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "made here");
  EXPECT_FALSE(std::filesystem::exists(At("base/new")));
  EXPECT_EQ(Do({"fsck"}).status, 0);
}

TEST_F(MountCliTest, UnmountFindsTheWorkspaceFromTheMountPointAlone) {
  Mount();
  RunOptions elsewhere;
  elsewhere.directory = "/";
  EXPECT_EQ(Run({"umount", At("mnt")}, elsewhere).status, 0);
  EXPECT_FALSE(IsMounted(At("mnt")));
  Mount();
  RunOptions beside;
  beside.directory = At("");
  EXPECT_EQ(Run({"umount", "mnt"}, beside).status, 0);
}

TEST_F(MountCliTest, CommandsInsideAMountKnowItsWorkspace) {
  Mount();
  RunOptions inside;
  inside.directory = InMount("src");
  EXPECT_EQ(Run({"fs", "cat", "/README"}, inside).out, "read me\n");
  EXPECT_EQ(Run({"status", "--json"}, inside).Json()["workspace"], state());
}

TEST_F(MountCliTest, BranchesAndSnapshotsAtOnce) {
  for (const char* name : {"b", "s", "r"}) MakeHostDirectory(name);
  Do({"branch", "create", "other"});
  Do({"snapshot", "create", "before"});
  Mount();
  Do({"mount", At("b"), "--branch", "other"});
  Do({"mount", At("s"), "--snapshot", "before"});
  Do({"mount", At("r"), "--read-only"});
  Write(InMount("new"), "main's");
  Write(At("b/new"), "other's");
  EXPECT_EQ(Read(InMount("new")), "main's");
  EXPECT_EQ(Read(At("r/new")), "main's");
  EXPECT_EQ(::open(At("s/x").c_str(), O_CREAT | O_WRONLY, 0644), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(::open(At("r/x").c_str(), O_CREAT | O_WRONLY, 0644), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_FALSE(std::filesystem::exists(At("s/new")));
  auto json = Do({"umount", "--all", "--json"}).Json();
  EXPECT_EQ(json["unmounted"].size(), 4u);
  WaitForNoServer();
  EXPECT_EQ(Do({"fs", "cat", "/new", "--branch", "other"}).out, "other's");
}

TEST_F(MountCliTest, DoesWithoutRingsWhereItIsTold) {
  const std::string config = state() + "/config.toml";
  const std::string base = Read(config).substr(0, Read(config).find("[server]"));
  std::ofstream(config) << base << "[server]\nio_uring = false\n";
  Mount();
  const auto mounts = Do({"status", "--json"}).Json()["mounts"];
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0]["capabilities"][0], "device");
}

TEST_F(MountCliTest, AnswersInJson) {
  auto json = Do({"mount", At("mnt"), "--json"}).Json();
  EXPECT_EQ(json["mount_point"], At("mnt"));
  EXPECT_EQ(json["branch"], "main");
  EXPECT_FALSE(json["capabilities"].empty());
  EXPECT_EQ(Do({"umount", At("mnt"), "--json"}).Json()["unmounted"][0], At("mnt"));
}

TEST_F(MountCliTest, ABareWorkspaceCanBeMountedToo) {
  Ok({"init", "--bare", At("x.db")});
  Ok({"--workspace", At("x.db"), "mount", At("mnt")});
  Write(InMount("f"), "bare");
  Ok({"umount", At("mnt")});
  EXPECT_EQ(Ok({"--workspace", At("x.db"), "fs", "cat", "/f"}).out, "bare");
  EXPECT_FALSE(std::filesystem::exists(At("x.db-socket")));
  EXPECT_FALSE(std::filesystem::exists(At("x.db-mounts")));
}

TEST_F(MountCliTest, ADeepStateDirectoryIsNoObstacle) {
  std::string deep = At("deep");
  MakeHostDirectory("deep");
  for (int i = 0; i < 3; ++i) {
    deep += "/" + std::string(60, 'd');
    ASSERT_EQ(::mkdir(deep.c_str(), 0755), 0);
  }
  Ok({"init", At("base"), "--state", deep + "/s"});
  Ok({"--workspace", deep + "/s", "mount", At("mnt")});
  EXPECT_EQ(Ok({"--workspace", deep + "/s", "fs", "cat", "/README"}).out, "read me\n");
  Ok({"umount", At("mnt")});
}

// ---- what is refused

struct Refusal {
  std::string point, text;
  int status;
};

TEST_F(MountCliTest, MountPointsThatCannotBeAreRefused) {
  WriteHost("file", "");
  MakeHostDirectory("base/inside");
  const std::vector<Refusal> refusals = {
      {At("file"), "not a directory", 125},
      {At("absent"), "mkdir", 4},
      {At("base/inside"), "which would contain itself", 2},
      {At(""), "hide", 2},
      {state(), "hide the workspace's own state", 2},
  };
  for (const Refusal& each : refusals) {
    Outcome outcome = Try({"mount", each.point});
    EXPECT_EQ(outcome.status, each.status) << each.point << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(each.text)) << each.point;
    EXPECT_THAT(outcome.err, testing::StartsWith("agentfs: ")) << outcome.err;
  }
  WaitForNoServer();
  EXPECT_EQ(Try({"mount", At("mnt"), "--branch", "none"}).status, 4);
  EXPECT_EQ(Try({"mount", At("mnt"), "--snapshot", "none"}).status, 4);
  EXPECT_EQ(Try({"mount", At("mnt"), "--profile", "none"}).status, 2);
  EXPECT_EQ(Try({"mount"}).status, 2);
  EXPECT_EQ(Try({"umount"}).status, 2);
}

TEST_F(MountCliTest, TheViewCanCoverItsOwnBase) {
  Do({"mount", At("base")});
  Write(At("base/new"), "in the branch");
  EXPECT_EQ(Read(At("base/README")), "read me\n");
  Do({"umount", At("base")});
  EXPECT_FALSE(std::filesystem::exists(At("base/new")));
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "in the branch");
}

TEST_F(MountCliTest, AMountPointIsUsedOnce) {
  Mount();
  Outcome again = Try({"mount", At("mnt")});
  EXPECT_EQ(again.status, 3);
  EXPECT_THAT(again.err, HasSubstr("mounted there already"));
  EXPECT_EQ(Read(InMount("README")), "read me\n");
}

TEST_F(MountCliTest, FilesBeneathAreHiddenWithANoticeAndComeBack) {
  WriteHost("mnt/mine", "still here");
  EXPECT_THAT(Mount().err, HasSubstr("is not empty"));
  EXPECT_FALSE(std::filesystem::exists(InMount("mine")));
  Unmount();
  EXPECT_EQ(Read(At("mnt/mine")), "still here");
}

TEST_F(MountCliTest, ABaseThatVanishesIsToldAtMountAndHarmsNoMountThatIs) {
  Mount();
  Write(InMount("new"), "ours");
  std::filesystem::remove_all(At("base"));
  EXPECT_EQ(Read(InMount("new")), "ours");
  EXPECT_FALSE(std::filesystem::exists(InMount("src")));
  Write(InMount("more"), "ours too");
  Unmount();
  Outcome gone = Try({"mount", At("mnt")});
  EXPECT_EQ(gone.status, 4) << gone.err;
  EXPECT_THAT(gone.err, HasSubstr(At("base")));
  EXPECT_FALSE(IsMounted(At("mnt")));
}

TEST_F(MountCliTest, UnmountOfWhatIsNoneIsToldSo) {
  Outcome plain = Try({"umount", At("mnt")});
  EXPECT_EQ(plain.status, 4);
  EXPECT_THAT(plain.err, HasSubstr("nothing is mounted"));
  Outcome other = Try({"umount", "/proc"});
  EXPECT_EQ(other.status, 2);
  EXPECT_EQ(Do({"umount", "--all", "--json"}).Json()["unmounted"].size(), 0u);
}

TEST_F(MountCliTest, ABusyMountNamesItsUsersAndStays) {
  Mount();
  const int file = ::open(InMount("README").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  Outcome busy = Try({"umount", At("mnt")});
  EXPECT_EQ(busy.status, 3);
  EXPECT_THAT(busy.err, HasSubstr("(process " + std::to_string(::getpid()) + ")"));
  EXPECT_TRUE(IsMounted(At("mnt")));
  EXPECT_EQ(Read(InMount("README")), "read me\n");
  Do({"umount", "--force", At("mnt")});
  EXPECT_FALSE(IsMounted(At("mnt")));
  char byte;
  EXPECT_LT(::pread(file, &byte, 1, 4096), 1) << "the user gets an error, or nothing";
  ::close(file);
  WaitForNoServer();
}

TEST_F(MountCliTest, AnUnmountByOthersLetsTheServerGoToo) {
  Mount();
  Write(InMount("new"), "kept");
  const pid_t server = ServerPid();
  ASSERT_EQ(::umount2(At("mnt").c_str(), 0), 0);
  WaitForEnd(server);
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "kept");
}

// ---- --foreground

class ForegroundTest : public MountCliTest {
 protected:
  // Started, and mounted when this returns.
  pid_t Start() {
    const pid_t child = ::fork();
    if (child == 0) {
      Try({"mount", At("mnt"), "--foreground"});
      ::_exit(0);
    }
    while (!IsMounted(At("mnt"))) ::usleep(1000);
    return child;
  }
  // The program itself, which is the child of the test's child.
  static pid_t ProgramOf(pid_t child) {
    std::string pids =
        Read("/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children");
    return std::atoi(pids.c_str());
  }
};

TEST_F(ForegroundTest, StaysAndUnmountsAtASignal) {
  for (int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const pid_t child = Start();
    Write(InMount("new"), std::to_string(signal));
    ASSERT_EQ(::kill(ProgramOf(child), signal), 0);
    int status;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    // Killed, it cannot wait for the server to have noticed.
    while (IsMounted(At("mnt"))) ::usleep(1000);
    EXPECT_EQ(Do({"fs", "cat", "/new"}).out, std::to_string(signal));
  }
}

TEST_F(ForegroundTest, EndsWhenSomebodyElseUnmounts) {
  const pid_t child = Start();
  Unmount();
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  WaitForNoServer();
}

// ---- snapshots and restores of what is mounted

TEST_F(MountCliTest, ASnapshotHoldsStoresToSharedMappings) {
  Mount();
  constexpr size_t kSize = 4 << 20;
  const int file = ::open(InMount("mapped").c_str(), O_CREAT | O_RDWR, 0644);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, kSize), 0);
  void* map = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(map, MAP_FAILED);
  for (char fill : {'a', 'b', 'c'}) {
    std::memset(map, fill, kSize);
    const std::string name(1, fill);
    Do({"snapshot", "create", name});
    EXPECT_EQ(Do({"fs", "cat", "/mapped", "--snapshot", name}).out, std::string(kSize, fill));
  }
  ::munmap(map, kSize);
  ::close(file);
}

TEST_F(MountCliTest, WhatCommandsChangeShowsInTheMountAtOnce) {
  Mount();
  EXPECT_EQ(Read(InMount("README")), "read me\n");
  Do({"fs", "write", "/README"}, "by command");
  EXPECT_EQ(Read(InMount("README")), "by command");
  EXPECT_FALSE(std::filesystem::exists(InMount("d")));
  Do({"fs", "mkdir", "/d"});
  EXPECT_TRUE(std::filesystem::exists(InMount("d")));
  Do({"fs", "rm", "-r", "/src"});
  EXPECT_FALSE(std::filesystem::exists(InMount("src/a.c")));
}

// ---- an ordinary user

TEST_F(MountCliTest, TheBulkProfileIsShownAndItsFilesAreSeenByCommands) {
  Do({"mount", At("mnt"), "--profile", "bulk"});
  EXPECT_THAT(Do({"status"}).out, HasSubstr("profile bulk"));
  EXPECT_THAT(Do({"--json", "status"}).out, HasSubstr("passthrough"));
  std::ofstream file(InMount("f"));
  file << std::string(1 << 20, 'x') << std::flush;
  EXPECT_TRUE(Do({"fs", "cat", "/f"}).out == std::string(1 << 20, 'x'));
  Do({"snapshot", "create", "one"});
  file << "more" << std::flush;
  EXPECT_EQ(Do({"fs", "cat", "/f", "--snapshot", "one"}).out.size(), 1u << 20);
  file.close();
  Unmount();
  EXPECT_TRUE(Do({"fs", "cat", "/f"}).out == std::string(1 << 20, 'x') + "more");
  EXPECT_EQ(Do({"fsck"}).status, 0);
}

class UserMountCliTest : public MountCliTest {
 protected:
  static constexpr uid_t kNobody = 65534;
  UserMountCliTest() { user_ = kNobody; }
  void SetUp() override {
    if (::access("/usr/bin/fusermount3", X_OK) != 0) GTEST_SKIP() << "there is no fusermount3";
    MountCliTest::SetUp();
  }
  // A command of the user's, in a shell.
  int Shell(const std::string& command) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(99);
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(99);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  fuse::test::DeviceMode device_{fuse::test::DeviceMode::kEverybody};
};

TEST_F(UserMountCliTest, TheBulkProfileTakesPrivilege) {
  const Outcome refused = Try({"mount", At("mnt"), "--profile", "bulk"});
  EXPECT_EQ(refused.status, 125);
  EXPECT_THAT(refused.err, HasSubstr("the bulk profile cannot be used"));
  EXPECT_THAT(refused.err, HasSubstr("default profile"));
  EXPECT_FALSE(IsMounted(At("mnt")));
}

TEST_F(UserMountCliTest, MountsWritesAndUnmounts) {
  Mount();
  EXPECT_EQ(Shell("echo mine > " + InMount("new") + " && cat " + InMount("README")), 0);
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "mine\n");
  Do({"snapshot", "create", "one"});
  Outcome busy;
  EXPECT_EQ(Do({"status", "--json"}).Json()["mounts"].size(), 1u);
  Unmount();
  EXPECT_FALSE(IsMounted(At("mnt")));
  WaitForNoServer();
  EXPECT_EQ(Do({"fs", "stat", "/new", "--json"}).Json()["uid"], kNobody);
}

TEST_F(UserMountCliTest, AKilledServerIsCleanedUpByTheNextCommand) {
  Mount();
  EXPECT_EQ(Shell("echo kept > " + InMount("new") + " && sync " + InMount("new")), 0);
  KillServer();
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "kept\n");
  EXPECT_FALSE(IsMounted(At("mnt")));
  Mount();
  EXPECT_EQ(Shell("grep -q kept " + InMount("new")), 0);
  Unmount();
}

TEST_F(UserMountCliTest, RootMayUseTheUsersServerAndOthersMayNot) {
  Mount();
  RunOptions root;
  EXPECT_EQ(Run({"--workspace", state(), "fs", "cat", "/README"}, root).out, "read me\n");
  ASSERT_EQ(::chmod(state().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((state() + "/control.sock").c_str(), 0666), 0);
  RunOptions other;
  other.user = 54321;
  Outcome denied = Run({"--workspace", state(), "fs", "cat", "/README"}, other);
  EXPECT_EQ(denied.status, 125);
  EXPECT_THAT(denied.err, HasSubstr("another user"));
  Unmount();
}

}  // namespace
}  // namespace agentfs
