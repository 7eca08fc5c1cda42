// SPDX-License-Identifier: Apache-2.0
//
// Branches for running processes: branch bind, and who is where.
#include <gmock/gmock.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "device_mode.h"
#include "mounted.h"

namespace agentfs {
namespace {

using testing::HasSubstr;

enum class Namespace : uint8_t { kShared, kOwnMounts, kOwnUsersAndMounts };

// A shell that runs and is asked what it sees.
class RunningShell {
 public:
  RunningShell(uid_t user, Namespace space) {
    if (::pipe(to_) != 0 || ::pipe(from_) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) Become(user, space);
    ::close(to_[0]);
    ::close(from_[1]);
  }
  ~RunningShell() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(to_[1]);
    ::close(from_[0]);
  }
  RunningShell(const RunningShell&) = delete;
  RunningShell& operator=(const RunningShell&) = delete;

  pid_t pid() const { return pid_; }
  std::string Ask(const std::string& command) {
    const std::string line = "{ " + command + "\n} 2>&1; printf '\\001'\n";
    if (::write(to_[1], line.data(), line.size()) < 0) return "(it does not listen)";
    std::string answer;
    for (char c; ::read(from_[0], &c, 1) == 1;) {
      if (c == '\001') return answer;
      answer += c;
    }
    return answer + "(it has ended)";
  }

 private:
  void Become(uid_t user, Namespace space) {
    if (user != 0 && (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0)) {
      ::_exit(99);
    }
    ::dup2(to_[0], STDIN_FILENO);
    ::dup2(from_[1], STDOUT_FILENO);
    for (int fd : {to_[0], to_[1], from_[0], from_[1]}) ::close(fd);
    if (space == Namespace::kShared) ::execl("/bin/sh", "sh", nullptr);
    if (space == Namespace::kOwnMounts) ::execl("/usr/bin/unshare", "unshare", "-m", "sh", nullptr);
    ::execl("/usr/bin/unshare", "unshare", "-Urm", "sh", nullptr);
    ::_exit(99);
  }

  int to_[2] = {-1, -1}, from_[2] = {-1, -1};
  pid_t pid_ = -1;
};

class BindCliTest : public MountCliTest {
 protected:
  void SetUp() override {
    MountCliTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Do({"branch", "create", "one"});
    Do({"branch", "create", "two"});
    Do({"fs", "write", "/README", "--branch", "one"}, "changed in one\n");
    Do({"fs", "write", "/README", "--branch", "two"}, "changed in two\n");
  }
  Outcome Bind(const std::string& branch, pid_t pid) {
    return Try({"branch", "bind", branch, "--pid", std::to_string(pid)});
  }
  std::string ReadMe() const { return "cat " + At("base/README"); }
};

class UserBindCliTest : public BindCliTest {
 protected:
  UserBindCliTest() { user_ = 65534; }
  void SetUp() override {
    if (::access("/usr/bin/fusermount3", X_OK) != 0) GTEST_SKIP() << "there is no fusermount3";
    BindCliTest::SetUp();
  }
  fuse::test::DeviceMode device_{fuse::test::DeviceMode::kEverybody};
};

TEST_F(BindCliTest, AProcessAndItsChildrenSeeTheBranchAndNobodyElseDoes) {
  RunningShell shell(0, Namespace::kOwnMounts), other(0, Namespace::kOwnMounts);
  EXPECT_EQ(shell.Ask(ReadMe()), "read me\n");
  const Outcome bound = Bind("one", shell.pid());
  ASSERT_EQ(bound.status, 0) << bound.err;
  EXPECT_THAT(bound.out, HasSubstr("branch one at " + At("base")));
  EXPECT_EQ(shell.Ask("read line < " + At("base/README") + "; echo $line"), "changed in one\n");
  EXPECT_EQ(shell.Ask(ReadMe()), "changed in one\n");
  EXPECT_EQ(shell.Ask("echo new > " + At("base/new") + "; sh -c '" + ReadMe() + "'"),
            "changed in one\n");
  EXPECT_EQ(other.Ask(ReadMe()), "read me\n");
  EXPECT_EQ(Read(At("base/README")), "read me\n");
  EXPECT_NE(::access(At("base/new").c_str(), F_OK), 0);
  EXPECT_EQ(Do({"fs", "cat", "/new", "--branch", "one"}).out, "new\n");
}

TEST_F(BindCliTest, AProcessCanGoToAnotherBranch) {
  RunningShell shell(0, Namespace::kOwnMounts);
  shell.Ask("true");
  ASSERT_EQ(Bind("one", shell.pid()).status, 0);
  ASSERT_EQ(Bind("two", shell.pid()).status, 0);
  EXPECT_EQ(shell.Ask(ReadMe()), "changed in two\n");
  // Nobody is in the first any more.
  EXPECT_EQ(Try({"branch", "delete", "one"}).status, 0);
  EXPECT_NE(Try({"branch", "delete", "two"}).status, 0);
  EXPECT_EQ(shell.Ask(ReadMe()), "changed in two\n");
  EXPECT_EQ(shell.Ask("cd " + At("base") + " && pwd -P"), At("base") + "\n");
}

TEST_F(BindCliTest, StatusListsWhoIsWhere) {
  RunningShell shell(0, Namespace::kOwnMounts);
  shell.Ask("true");
  ASSERT_EQ(Bind("one", shell.pid()).status, 0);
  const auto status = Do({"status", "--json"}).Json();
  ASSERT_EQ(status["processes"].size(), 1u) << status;
  EXPECT_EQ(status["processes"][0]["pid"], shell.pid());
  EXPECT_EQ(status["processes"][0]["name"], "sh");
  EXPECT_EQ(status["processes"][0]["branch"], "one");
  EXPECT_EQ(status["processes"][0]["path"], At("base"));
  EXPECT_THAT(Do({"status"}).out, HasSubstr("branch one at " + At("base")));
}

TEST_F(BindCliTest, AProcessWithoutANamespaceOfItsOwnIsRefused) {
  RunningShell shell(0, Namespace::kShared);
  shell.Ask("true");
  const Outcome refused = Bind("one", shell.pid());
  EXPECT_EQ(refused.status, 125);
  EXPECT_THAT(refused.err, HasSubstr("no mount namespace of its own"));
  EXPECT_THAT(refused.err, HasSubstr("agentfs run"));
  EXPECT_THAT(refused.err, HasSubstr("unshare -m"));
}

TEST_F(BindCliTest, AnotherUsersProcessIsRefused) {
  RunningShell shell(65534, Namespace::kOwnUsersAndMounts);
  shell.Ask("true");
  const Outcome refused = Bind("one", shell.pid());
  EXPECT_EQ(refused.status, 125);
  EXPECT_THAT(refused.err, HasSubstr("another user's"));
}

TEST_F(BindCliTest, WhatIsNotThereIsNamed) {
  RunningShell shell(0, Namespace::kOwnMounts);
  shell.Ask("true");
  EXPECT_THAT(Bind("none", shell.pid()).err, HasSubstr("branch none"));
  EXPECT_THAT(Bind("one", 0x3FFFFF).err, HasSubstr("no process"));
  const Outcome nowhere =
      Try({"branch", "bind", "one", "--pid", std::to_string(shell.pid()), "--path", "/not/there"});
  EXPECT_THAT(nowhere.err, HasSubstr("/not/there"));
  shell.Ask("mkdir " + At("elsewhere"));
  EXPECT_EQ(Try({"branch", "bind", "one", "--pid", std::to_string(shell.pid()), "--path",
                 At("elsewhere")})
                .status,
            0);
  EXPECT_EQ(shell.Ask("cat " + At("elsewhere/README")), "changed in one\n");
  EXPECT_EQ(shell.Ask(ReadMe()), "read me\n");
}

TEST_F(BindCliTest, TheServerStaysForTheProcessAndLeavesAfterIt) {
  pid_t server = 0;
  {
    RunningShell shell(0, Namespace::kOwnMounts);
    shell.Ask("true");
    Mount();
    ASSERT_EQ(Bind("one", shell.pid()).status, 0);
    server = ServerPid();
    const Outcome busy = Try({"umount", "--all"});
    EXPECT_EQ(busy.status, 3);
    EXPECT_THAT(busy.err, HasSubstr("in branch one"));
    EXPECT_EQ(shell.Ask(ReadMe()), "changed in one\n");
    EXPECT_EQ(ServerPid(), server);
  }
  WaitForEnd(server);
  EXPECT_EQ(Do({"fs", "cat", "/README", "--branch", "one"}).out, "changed in one\n");
}

TEST_F(BindCliTest, ByForceTheBranchIsTakenAway) {
  RunningShell shell(0, Namespace::kOwnMounts);
  shell.Ask("true");
  ASSERT_EQ(Bind("one", shell.pid()).status, 0);
  Do({"umount", "--all", "--force"});
  EXPECT_THAT(shell.Ask(ReadMe()), HasSubstr("not connected"));
}

TEST_F(UserBindCliTest, TheirOwnProcessInAUserNamespaceSeesTheBranch) {
  RunningShell shell(user_, Namespace::kOwnUsersAndMounts);
  shell.Ask("true");
  const Outcome bound = Bind("one", shell.pid());
  ASSERT_EQ(bound.status, 0) << bound.err;
  EXPECT_EQ(shell.Ask(ReadMe()), "changed in one\n");
  EXPECT_EQ(shell.Ask("echo mine > " + At("base/mine") + "; sh -c 'cat " + At("base/mine") + "'"),
            "mine\n");
  EXPECT_EQ(Do({"fs", "cat", "/mine", "--branch", "one"}).out, "mine\n");
  const auto status = Do({"status", "--json"}).Json();
  ASSERT_EQ(status["processes"].size(), 1u) << status;
  EXPECT_EQ(status["processes"][0]["branch"], "one");
}

TEST_F(UserBindCliTest, AServerInAUserNamespaceBindsWhatRunsThere) {
  std::filesystem::copy_file(AGENTFS_BINARY, At("agentfs"));
  RunningShell shell(user_, Namespace::kOwnUsersAndMounts);
  // The child has its own mounts before it is ready, and looks when it is told to go on.
  const std::string child = "'echo > ready; read go < go; " + ReadMe() + "'";
  EXPECT_EQ(
      shell.Ask("cd " + At("") + "; export XDG_RUNTIME_DIR=" + At("") +
                "; mkfifo ready go; unshare -m sh -c " + child +
                " > out & read ready < ready; ./agentfs --workspace state --quiet branch bind one "
                "--pid $! && echo > go && wait && cat out"),
      "changed in one\n");
  shell.Ask("./agentfs --workspace state umount --all --force");
}

TEST_F(UserBindCliTest, AnotherUsersProcessIsRefused) {
  RunningShell shell(0, Namespace::kOwnMounts);
  shell.Ask("true");
  const Outcome refused = Bind("one", shell.pid());
  EXPECT_EQ(refused.status, 125);
  EXPECT_THAT(refused.err, testing::AnyOf(HasSubstr("another user's"), HasSubstr("denied")));
}

}  // namespace
}  // namespace agentfs
