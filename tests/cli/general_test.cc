// SPDX-License-Identifier: Apache-2.0
//
// What holds for every command: help, usage errors, global options, finding the workspace.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "program.h"

namespace agentfs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(CliTest, VersionSaysTheVersion) {
  EXPECT_EQ(Ok({"version"}).out, "agentfs " AGENTFS_VERSION "\n");
  EXPECT_EQ(Ok({"--version"}).out, "agentfs " AGENTFS_VERSION "\n");
  EXPECT_EQ(Ok({"version", "--json"}).Json()["version"], AGENTFS_VERSION);
  EXPECT_EQ(Ok({"--json", "version"}).Json()["version"], AGENTFS_VERSION);
}

TEST_F(CliTest, EveryCommandHasHelpWithExamples) {
  const std::vector<std::vector<std::string>> commands = {{"init"},
                                                          {"mount"},
                                                          {"umount"},
                                                          {"status"},
                                                          {"gc"},
                                                          {"fsck"},
                                                          {"fs"},
                                                          {"fs", "ls"},
                                                          {"fs", "cat"},
                                                          {"fs", "stat"},
                                                          {"fs", "write"},
                                                          {"fs", "append"},
                                                          {"fs", "mkdir"},
                                                          {"fs", "rm"},
                                                          {"fs", "mv"},
                                                          {"fs", "cp"},
                                                          {"fs", "ln"},
                                                          {"fs", "chmod"},
                                                          {"fs", "tree"},
                                                          {"fs", "find"},
                                                          {"fs", "du"},
                                                          {"snapshot"},
                                                          {"snapshot", "create"},
                                                          {"snapshot", "list"},
                                                          {"snapshot", "delete"},
                                                          {"branch"},
                                                          {"branch", "create"},
                                                          {"branch", "list"},
                                                          {"branch", "delete"},
                                                          {"policy"},
                                                          {"policy", "check"},
                                                          {"policy", "explain"},
                                                          {"policy", "test"}};
  for (auto command : commands) {
    command.push_back("--help");
    Outcome help = Ok(command);
    EXPECT_THAT(help.out, HasSubstr("Usage: ")) << testing::PrintToString(command);
    EXPECT_THAT(help.out, HasSubstr("Examples:\n  ")) << testing::PrintToString(command);
    EXPECT_EQ(help.err, "");
  }
  EXPECT_THAT(Ok({"--help"}).out, HasSubstr("Exit status"));
  EXPECT_EQ(Ok({"-h"}).out, Ok({"--help"}).out);
}

TEST_F(CliTest, WrongUsageIsStatusTwoWithOneLineAndARemedy) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"nonsense"},
      {"--nonsense"},
      {"fs"},
      {"fs", "cat"},
      {"fs", "nonsense"},
      {"fs", "ls", "--no"},
      {"branch", "create"},
      {"fs", "mv", "/only-one"},
      {"policy", "check"},
      {"policy", "check", "--shell", "ls", "--", "ls"},
      {"policy", "check", "--network", "maybe", "--", "ls"},
      {"fs", "ls", "--branch", "a", "--snapshot", "b"},
      {"init", "--bare", "x.db", "dir"},
      {"fs", "find", "--type", "q"}};
  for (auto arguments : wrong) {
    Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(arguments) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("agentfs: ")) << testing::PrintToString(arguments);
    EXPECT_THAT(outcome.err, HasSubstr("--help' shows the usage\n"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    arguments.insert(arguments.begin(), "--json");
    EXPECT_EQ(Run(arguments).Json()["error"]["code"], "EINVAL")
        << testing::PrintToString(arguments);
  }
}

TEST_F(CliTest, WithoutAWorkspaceItSaysHowToMakeOne) {
  Outcome none = Run({"fs", "ls"});
  EXPECT_EQ(none.status, 4);
  EXPECT_THAT(none.err, HasSubstr("agentfs init"));
  Outcome named = Run({"--workspace", At("absent"), "gc"});
  EXPECT_EQ(named.status, 4);
  EXPECT_THAT(named.err, HasSubstr(At("absent")));
}

TEST_F(WorkspaceCliTest, IsFoundByOptionEnvironmentAndUpwards) {
  RunOptions inside;
  inside.directory = At("base/src");
  EXPECT_EQ(Run({"fs", "cat", "/README"}, inside).out, "read me\n");
  RunOptions environment;
  environment.environment["AGENTFS_WORKSPACE"] = At("base");
  EXPECT_EQ(Run({"fs", "cat", "/README"}, environment).out, "read me\n");
  EXPECT_EQ(Ok({"fs", "cat", "/README", "--workspace", At("base")}).out, "read me\n");
  EXPECT_EQ(Ok({"fs", "--workspace", At("base"), "cat", "/README"}).out, "read me\n");
  environment.environment["AGENTFS_WORKSPACE"] = At("absent");
  EXPECT_EQ(Run({"fs", "ls"}, environment).status, 4);
}

TEST_F(WorkspaceCliTest, NamesOfCommandsAreNamesOfFilesToo) {
  for (const char* name : {"gc", "fs", "ls", "branch", "version"}) {
    Do({"fs", "write", name}, name);
    EXPECT_EQ(Do({"fs", "cat", name}).out, name);
  }
  for (const char* name : {"[a,b]", "[x]", "{a}", "a=b"}) {
    Do({"fs", "write", name}, name);
    EXPECT_EQ(Do({"fs", "cat", name, name}).out, std::string(name) + name);
  }
  Do({"fs", "write", "--", "--json"}, "dashes");
  EXPECT_EQ(Do({"fs", "cat", "--", "--json"}).out, "dashes");
}

TEST_F(WorkspaceCliTest, ABusyWorkspaceNamesItsHolder) {
  WriteHost("base/.agentfs/config.toml", "[workspace]\nlock_timeout_ms = 50\n");
  const int lock = ::open(At("base/.agentfs/lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  ASSERT_EQ(::ftruncate(lock, 0), 0);
  ASSERT_EQ(::pwrite(lock, "12345\n", 6, 0), 6);
  ExpectFailure({"fs", "ls"}, 3, "EBUSY");
  EXPECT_THAT(Try({"fs", "ls"}).err, HasSubstr("12345"));
  ::close(lock);
  Do({"fs", "ls"});
}

TEST_F(WorkspaceCliTest, AWrongConfigurationIsNamedWithItsLine) {
  WriteHost("base/.agentfs/config.toml", "[limits]\n\nmax_nodes = 'many'\n");
  Outcome outcome = Try({"fs", "ls"});
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("config.toml:3: limits.max_nodes"));
}

TEST_F(WorkspaceCliTest, LimitsOfTheConfigurationHold) {
  WriteHost("base/.agentfs/config.toml", "[limits]\nmax_file_bytes = 1000\nmax_branches = 2\n");
  Do({"fs", "write", "/small"}, std::string(1000, 'x'));
  ExpectFailure({"fs", "write", "/large"}, 125, "EFBIG", std::string(1001, 'x'));
  EXPECT_EQ(Try({"fs", "stat", "/large"}).status, 4);
  ExpectFailure({"fs", "write", "/small"}, 125, "EFBIG", std::string(1001, 'x'));
  EXPECT_EQ(Do({"fs", "cat", "/small"}).out, std::string(1000, 'x'));
  Do({"branch", "create", "one"});
  ExpectFailure({"branch", "create", "two"}, 125, "EDQUOT");
}

TEST_F(WorkspaceCliTest, AFullOutputIsAnError) {
  std::string command =
      ProgramInShell() + " --workspace '" + At("base") + "' fs cat /README >/dev/full 2>/dev/null";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 125);
}

}  // namespace
}  // namespace agentfs
