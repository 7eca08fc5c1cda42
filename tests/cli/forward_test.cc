// SPDX-License-Identifier: Apache-2.0
//
// Commands while a server has the workspace: the same as without.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mounted.h"

namespace agentfs {
namespace {

using testing::HasSubstr;

class ForwardTest : public MountCliTest {
 protected:
  void SetUp() override {
    MountCliTest::SetUp();
    if (!IsSkipped()) Mount();
  }
};

TEST_F(ForwardTest, EverySubcommandOfFs) {
  Do({"fs", "write", "/f"}, "one\n");
  Do({"fs", "append", "/f"}, "two\n");
  EXPECT_EQ(Do({"fs", "cat", "/f"}).out, "one\ntwo\n");
  Do({"fs", "mkdir", "-p", "/d/e"});
  Do({"fs", "cp", "/f", "/d/g"});
  Do({"fs", "mv", "/d/g", "/d/h"});
  Do({"fs", "ln", "-s", "h", "/d/link"});
  Do({"fs", "chmod", "600", "/d/h"});
  EXPECT_EQ(Do({"fs", "ls", "/d"}).out, "e\nh\nlink\n");
  EXPECT_THAT(Do({"fs", "ls", "-l", "/d"}).out, HasSubstr("-rw------- 1 root root 8"));
  EXPECT_EQ(Do({"fs", "stat", "/d/h", "--json"}).Json()["mode"], "0600");
  EXPECT_THAT(Do({"fs", "tree", "/d"}).out, HasSubstr("link"));
  EXPECT_EQ(Do({"fs", "find", "/d", "--type", "l"}).out, "/d/link\n");
  EXPECT_EQ(Do({"fs", "du", "-s", "/d"}).out, "8\t/d\n");
  Do({"fs", "rm", "-r", "/d"});
  EXPECT_EQ(Try({"fs", "ls", "/d"}).status, 4);
  EXPECT_EQ(Read(InMount("f")), "one\ntwo\n");
}

TEST_F(ForwardTest, BranchesSnapshotsAndUpkeep) {
  EXPECT_EQ(Do({"branch", "create", "b"}).out, "b\n");
  EXPECT_EQ(Do({"snapshot", "create", "s"}).out, "s\n");
  EXPECT_EQ(Do({"branch", "list", "--json"}).Json().size(), 2u);
  EXPECT_EQ(Do({"snapshot", "list", "--json"}).Json().size(), 1u);
  Outcome in_use = Try({"branch", "delete", "main"});
  EXPECT_EQ(in_use.status, 3) << "it is mounted";
  Do({"branch", "delete", "b"});
  Do({"snapshot", "delete", "s"});
  Do({"gc"});
  EXPECT_THAT(Do({"fsck"}).out, HasSubstr("clean"));
}

TEST_F(ForwardTest, ErrorsAndTheirStatusAreTheSame) {
  Outcome missing = Try({"fs", "cat", "/none"});
  EXPECT_EQ(missing.status, 4);
  EXPECT_EQ(missing.err, "agentfs: cannot read /none: No such file or directory\n");
  EXPECT_EQ(missing.out, "");
  EXPECT_EQ(Try({"fs", "cat", "/none", "--json"}).Json()["error"]["code"], "ENOENT");
  EXPECT_EQ(Try({"fs", "nonsense"}).status, 2);
  EXPECT_EQ(Try({"branch", "create", "main"}).status, 3);
}

TEST_F(ForwardTest, LargeInputsAndOutputs) {
  std::string large;
  for (int i = 0; large.size() < (20 << 20); ++i) large += std::to_string(i) + "\n";
  Do({"fs", "write", "/large"}, large);
  EXPECT_TRUE(Do({"fs", "cat", "/large"}).out == large);
  EXPECT_TRUE(Read(InMount("large")) == large);
}

TEST_F(ForwardTest, AnArgumentIsAnyBytes) {
  Do({"fs", "write", "/na\xffme\n"}, "x");
  EXPECT_EQ(Do({"fs", "cat", "/na\xffme\n"}).out, "x");
  EXPECT_EQ(Read(InMount("na\xffme\n")), "x");
}

TEST_F(ForwardTest, AnOutputThatNobodyReadsEndsTheCommandAsAnyOther) {
  Do({"fs", "write", "/large"}, std::string(8 << 20, 'x'));
  const std::string command = "set -o pipefail; " + ProgramInShell() + " --workspace '" + state() +
                              "' fs cat /large | head -c 10";
  const int status = std::system(("bash -c \"" + command + "\" >/dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGPIPE);
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
}

TEST_F(ForwardTest, ASignalEndsTheClientAtOnceAndTheServerGoesOn) {
  int in[2];
  ASSERT_EQ(::pipe(in), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in[0], 0);
    ::close(in[1]);
    ::execl(AGENTFS_BINARY, "agentfs", "--workspace", state().c_str(), "fs", "write", "/never",
            nullptr);
    ::_exit(99);
  }
  ::close(in[0]);
  // It has been forwarded when the server has the pipe's end too; then the client waits.
  auto client_waits = [&] {
    return Read("/proc/" + std::to_string(child) + "/wchan").find("unix_stream") !=
           std::string::npos;
  };
  while (!client_waits()) ::usleep(1000);
  ASSERT_EQ(::kill(child, SIGTERM), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  // The pipe is still open at this end: nothing but the client's death ends the command.
  Unmount();
  WaitForNoServer();
  EXPECT_EQ(Try({"fs", "cat", "/never"}).status, 4);
  ::close(in[1]);
}

TEST_F(ForwardTest, TheUmaskIsTheClients) {
  const std::string command = "umask 077; echo x | " + ProgramInShell() + " --workspace '" +
                              state() + "' fs write /private";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(Do({"fs", "stat", "/private", "--json"}).Json()["mode"], "0600");
}

TEST_F(ForwardTest, ThePermissionsAreTheClients) {
  // Root's server, and a user whom only root's socket keeps out: told clearly.
  RunOptions other;
  other.user = 54321;
  Outcome denied = Run({"--workspace", state(), "fs", "cat", "/README"}, other);
  EXPECT_NE(denied.status, 0);
  EXPECT_THAT(denied.err, testing::StartsWith("agentfs: "));
}

TEST_F(ForwardTest, InitSaysThatThereIsOne) {
  Outcome again = Ok({"init", At("base"), "--state", state()});
  EXPECT_THAT(again.out, HasSubstr("Already a workspace"));
}

}  // namespace
}  // namespace agentfs
