// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "program.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PolicyCliTest : public WorkspaceCliTest {
 protected:
  // In the workspace's directory, with a configuration directory of the test's own.
  Outcome Policy(std::vector<std::string> arguments) {
    RunOptions options;
    options.directory = At("base");
    options.environment["XDG_CONFIG_HOME"] = At("config");
    arguments.insert(arguments.begin(), "policy");
    return Run(arguments, options);
  }
  void WriteWorkspacePolicy(const std::string& text) {
    WriteHost("base/.agentfs/policy.toml", text);
  }
  void WriteUserPolicy(const std::string& text) {
    MakeHostDirectory("config");
    MakeHostDirectory("config/agentfs");
    WriteHost("config/agentfs/policy.toml", text);
  }
};

constexpr const char* kNoLs = "[[rule]]\nname = 'no-ls'\nprogram = 'ls'\naction = 'deny'\n";

TEST_F(PolicyCliTest, CheckTellsByItsStatus) {
  EXPECT_EQ(Policy({"check", "--", "ls", "-la"}).status, 0);
  EXPECT_EQ(Policy({"check", "--", "rm", "-rf", "x"}).status, 0);
  EXPECT_EQ(Policy({"check", "--", "git", "push"}).status, 1);
  EXPECT_EQ(Policy({"check", "--shell", "ls | wc -l"}).status, 0);
  EXPECT_EQ(Policy({"check", "--shell", "curl x | sh"}).status, 1);
  EXPECT_EQ(Policy({"check", "--shell", ""}).status, 0);
  EXPECT_EQ(Policy({"check", "--shell", "echo '"}).status, 1);
}

TEST_F(PolicyCliTest, CheckPrintsTheDecision) {
  const Outcome text = Policy({"check", "--", "rm", "x"});
  EXPECT_EQ(text.Lines().at(0), "allow_with_checkpoint");
  EXPECT_THAT(text.out, HasSubstr("categories: mutating, destructive"));
  const auto json = Policy({"check", "--json", "--shell", "ls; git push --force"}).Json();
  EXPECT_EQ(json["action"], "require_approval");
  EXPECT_THAT(json["categories"], ElementsAre("mutating", "destructive", "networked"));
  EXPECT_EQ(json["rule"], "builtin:publish");
  EXPECT_THAT(json["reason"].get<std::string>(), HasSubstr("git push --force"));
}

TEST_F(PolicyCliTest, WordsOfACommandStayAsTheyAre) {
  const auto json =
      Policy({"explain", "--json", "--", "echo", "[a,b]", "--json", "$(rm x)"}).Json();
  EXPECT_EQ(json["parts"][0]["text"], "echo [a,b] --json $(rm x)");
  EXPECT_EQ(json["decision"]["action"], "allow");
}

TEST_F(PolicyCliTest, ExplainShowsEveryPart) {
  const Outcome text = Policy({"explain", "--shell", "find . -name x | xargs sudo rm"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("find . -name x\n  read_only (allow)\n"));
  EXPECT_THAT(text.out, HasSubstr("sudo rm\n  host_escape_risk (require_approval)\n"));
  EXPECT_THAT(text.out, HasSubstr("decision: require_approval\n"));
  const auto json = Policy({"explain", "--json", "--", "cp", "a", "b"}).Json();
  EXPECT_EQ(json["parts"][0]["paths"][1]["path"], At("base/b"));
  EXPECT_EQ(json["parts"][0]["paths"][1]["access"], "write");
}

TEST_F(PolicyCliTest, TheStrictestOfTheFilesWins) {
  EXPECT_EQ(Policy({"check", "--", "ls"}).status, 0);
  WriteUserPolicy(kNoLs);
  EXPECT_EQ(Policy({"check", "--json", "--", "ls"}).Json()["rule"], "user:no-ls");
  WriteWorkspacePolicy("[[rule]]\nname = 'yes'\nprogram = 'ls'\naction = 'allow'\n");
  EXPECT_EQ(Policy({"check", "--json", "--", "ls"}).Json()["action"], "deny");
  WriteWorkspacePolicy(kNoLs);
  EXPECT_EQ(Policy({"check", "--json", "--", "ls"}).Json()["rule"], "workspace:no-ls");
}

TEST_F(PolicyCliTest, FilesystemPermissionsHoldForPathsInCommands) {
  WriteWorkspacePolicy("[filesystem]\ndeny_read = ['**/.env']\n");
  EXPECT_EQ(Policy({"check", "--", "cat", ".env"}).status, 1);
  EXPECT_EQ(Policy({"check", "--json", "--", "cat", "src/../.env"}).Json()["action"], "deny");
  EXPECT_EQ(Policy({"check", "--cwd", At("base/src"), "--", "cat", "../.env"}).status, 1);
  EXPECT_EQ(Policy({"check", "--", "cat", "README"}).status, 0);
}

TEST_F(PolicyCliTest, WritingBeyondTheWorkspaceNeedsApproval) {
  EXPECT_EQ(Policy({"check", "--", "touch", "src/a"}).status, 0);
  EXPECT_EQ(Policy({"check", "--", "touch", "/etc/a"}).status, 1);
}

TEST_F(PolicyCliTest, TheNetworkFollowsOptionFileAndConfiguration) {
  EXPECT_EQ(Policy({"check", "--", "curl", "x"}).status, 0);
  EXPECT_EQ(Policy({"check", "--network", "deny", "--", "curl", "x"}).status, 1);
  WriteUserPolicy("network = 'ask'\n");
  EXPECT_EQ(Policy({"check", "--json", "--", "curl", "x"}).Json()["action"], "require_approval");
  WriteHost("base/.agentfs/config.toml", "[sandbox]\nnetwork = false\n");
  EXPECT_EQ(Policy({"check", "--json", "--", "curl", "x"}).Json()["action"], "deny");
}

TEST_F(PolicyCliTest, AWrongFileIsNamedAndNothingIsDecided) {
  WriteWorkspacePolicy("\n[[rule]]\nname = 'r'\nprogram = 'rm'\naction = 'deny'\nmatch = ['ls']\n");
  const Outcome outcome = Policy({"check", "--", "ls"});
  EXPECT_GT(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err,
              HasSubstr("policy.toml:2: rule r: it does not match its example \"ls\""));
}

TEST_F(PolicyCliTest, TestChecksTheExamples) {
  EXPECT_THAT(Policy({"test"}).out, HasSubstr("no policy files"));
  WriteWorkspacePolicy(std::string(kNoLs) +
                       "match = ['ls -l']\nnot_match = ['cat x', 'echo ls']\n");
  const Outcome good = Policy({"test"});
  EXPECT_EQ(good.status, 0);
  EXPECT_THAT(good.out, HasSubstr("policy.toml: 1 rules, 3 examples: ok"));
  WriteUserPolicy(std::string(kNoLs) + "match = ['cat']\n");
  const Outcome bad = Policy({"test", "--json"});
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.Json()["files"][0]["ok"], true);
  EXPECT_THAT(bad.Json()["files"][1]["error"].get<std::string>(), HasSubstr("rule no-ls"));
  EXPECT_EQ(Policy({"test", At("base/.agentfs/policy.toml")}).status, 0);
  EXPECT_EQ(Policy({"test", At("absent.toml")}).status, 4);
}

TEST_F(CliTest, PoliciesAreDecidedWithoutAWorkspace) {
  EXPECT_EQ(Run({"policy", "check", "--", "ls"}).status, 0);
  EXPECT_EQ(Run({"policy", "check", "--", "sudo", "ls"}).status, 1);
  EXPECT_EQ(Run({"--workspace", At("absent"), "policy", "check", "--", "ls"}).status, 4);
}

}  // namespace
}  // namespace agentfs
