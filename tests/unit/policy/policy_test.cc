// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command_table.h"
#include "policy/policy_file.h"

namespace agentfs::policy {
namespace {

using testing::HasSubstr;

Policy Parsed(const std::string& text, Origin origin = Origin::kWorkspace) {
  auto policy = ParsePolicy(text, "policy.toml", origin);
  EXPECT_TRUE(policy.ok()) << policy.error().message();
  return policy.ok() ? std::move(*policy) : Policy();
}

std::string Decided(const PolicySet& policies, const std::string& text) {
  const ExecutionDecision decision = policies.Decide(RequestFor(text));
  return std::string(ActionName(decision.action)) + " " + decision.rule;
}

TEST(PolicyTest, NothingToRunIsAllowed) {
  EXPECT_EQ(Decided(PolicySet({}), " # remark"), "allow builtin:reading");
}

TEST(PolicyTest, TheBuiltInRulesNameThemselves) {
  const PolicySet policies({});
  EXPECT_EQ(Decided(policies, "ls"), "allow builtin:reading");
  EXPECT_EQ(Decided(policies, "make"), "allow builtin:building");
  EXPECT_EQ(Decided(policies, "rm x"), "allow_with_checkpoint builtin:mutation");
  EXPECT_EQ(Decided(policies, "git push"), "require_approval builtin:publish");
  EXPECT_EQ(Decided(policies, "sudo ls"), "require_approval builtin:escape");
  EXPECT_EQ(Decided(policies, "vim"), "require_approval builtin:interactive");
  EXPECT_EQ(Decided(policies, "curl x"), "allow builtin:network");
  EXPECT_EQ(Decided(policies, "make > log"), "allow_with_checkpoint builtin:mutation");
}

TEST(PolicyTest, TheStrictestPartDecides) {
  const PolicySet policies({});
  const ExecutionDecision decision = policies.Decide(RequestFor("ls; rm x; git push; make"));
  EXPECT_EQ(decision.action, Action::kRequireApproval);
  EXPECT_EQ(decision.rule, "builtin:publish");
  EXPECT_THAT(decision.reason, HasSubstr("git push: what is published"));
  EXPECT_EQ(NamesOf(decision.categories), "mutating destructive networked");
}

TEST(PolicyTest, NetworkClientsFollowTheNetworkSetting) {
  const PolicySet policies({});
  PolicyRequest request = RequestFor("curl x");
  request.network = Network::kAsk;
  EXPECT_EQ(policies.Decide(request).action, Action::kRequireApproval);
  request.network = Network::kDeny;
  EXPECT_EQ(policies.Decide(request).action, Action::kDeny);
  EXPECT_EQ(policies.Decide(RequestFor("ls")).action, Action::kAllow);
  const PolicySet strict({Parsed("network = 'ask'"), Parsed("network = 'deny'", Origin::kUser)});
  EXPECT_EQ(Decided(strict, "npm install"), "deny builtin:network");
  const PolicySet lax({Parsed("network = 'allow'")});
  EXPECT_EQ(lax.Decide(request).action, Action::kDeny);
}

TEST(PolicyTest, TheStrictestFileWinsAndTheFirstIsNamed) {
  const std::string deny = "[[rule]]\nname='no'\nprogram='ls'\naction='deny'\n";
  const std::string allow = "[[rule]]\nname='yes'\nprogram='ls'\naction='allow'\n";
  EXPECT_EQ(Decided(PolicySet({Parsed(deny), Parsed(allow, Origin::kUser)}), "ls"),
            "deny workspace:no");
  EXPECT_EQ(Decided(PolicySet({Parsed(allow), Parsed(deny, Origin::kUser)}), "ls"), "deny user:no");
  EXPECT_EQ(Decided(PolicySet({Parsed(allow)}), "ls"), "allow workspace:yes");
  EXPECT_EQ(Decided(PolicySet({Parsed(allow)}), "ls; sudo ls"), "require_approval builtin:escape");
  EXPECT_EQ(Decided(PolicySet({Parsed(deny)}), "env sh -c 'ls'"), "deny workspace:no");
}

TEST(PolicyTest, RulesFitByProgramSubcommandFlagsPathsAndCategory) {
  const PolicySet policies({Parsed(R"(
[[rule]]
name = "force"
program = "git"
subcommand = "push"
flags = ["--force", "-f"]
action = "deny"
[[rule]]
name = "remote"
program = "git"
subcommand = "remote"
action = "deny"
[[rule]]
name = "migrations"
paths = ["/db/migrations/**"]
category = "mutating"
action = "require_approval"
[[rule]]
name = "py"
program = ["python", "pip*"]
action = "deny"
[[rule]]
name = "run"
program = "tool"
subcommand = "run"
action = "deny"
)")});
  EXPECT_EQ(Decided(policies, "git push -f"), "deny workspace:force");
  EXPECT_EQ(Decided(policies, "git push --force origin"), "deny workspace:force");
  EXPECT_EQ(Decided(policies, "git push"), "require_approval builtin:publish");
  EXPECT_EQ(Decided(policies, "git remote add a b"), "deny workspace:remote");
  EXPECT_EQ(Decided(policies, "rm ../db/migrations/1.sql"),
            "require_approval workspace:migrations");
  EXPECT_EQ(Decided(policies, "cat ../db/migrations/1.sql"), "allow builtin:reading");
  EXPECT_EQ(Decided(policies, "echo > ../db/migrations/1.sql"),
            "require_approval workspace:migrations");
  EXPECT_EQ(Decided(policies, "python3.11 a.py"), "deny workspace:py");
  EXPECT_EQ(Decided(policies, "pip3 list"), "deny workspace:py");
  EXPECT_EQ(Decided(policies, "tool run x"), "deny workspace:run");
  EXPECT_EQ(Decided(policies, "tool stop x"), "allow_with_checkpoint builtin:mutation");
}

TEST(PolicyTest, PathsOfCommandsFollowTheFilesystemPermissions) {
  const PolicySet policies({Parsed(R"(
[filesystem]
deny_read = ["**/.env", "/secrets/**"]
deny_write = ["/vendor/**"]
)")});
  EXPECT_EQ(Decided(policies, "cat .env"), "deny workspace:deny_read");
  EXPECT_EQ(Decided(policies, "cat ../.env | wc"), "deny workspace:deny_read");
  EXPECT_EQ(Decided(policies, "cp ../secrets/a b"), "deny workspace:deny_read");
  EXPECT_EQ(Decided(policies, "wc < .env"), "deny workspace:deny_read");
  EXPECT_EQ(Decided(policies, "sh -c 'cat .env'"), "deny workspace:deny_read");
  EXPECT_EQ(Decided(policies, "unknown-tool .env"), "deny workspace:deny_read");
  EXPECT_EQ(Decided(policies, "cat ../vendor/a"), "allow builtin:reading");
  EXPECT_EQ(Decided(policies, "rm ../vendor/a"), "deny workspace:deny_write");
  EXPECT_EQ(Decided(policies, "echo x > ../vendor/a"), "deny workspace:deny_write");
  EXPECT_EQ(Decided(policies, "cp ../vendor/a b"), "allow_with_checkpoint builtin:mutation");
  EXPECT_EQ(Decided(policies, "grep .env a"), "allow builtin:reading");
  EXPECT_THAT(policies.Decide(RequestFor("cat .env")).reason,
              HasSubstr("/src/.env is in deny_read \"**/.env\""));
}

TEST(PolicyTest, OnlyTheUsersFileOverridesBuiltInRules) {
  const std::string text =
      "[[rule]]\nname='code'\nprogram='python'\nflags='-c'\naction='allow_with_checkpoint'\n"
      "overrides=['escape','mutation']\n";
  const PolicySet policies({Parsed(text, Origin::kUser)});
  EXPECT_EQ(Decided(policies, "python3 -c 'x'"), "allow_with_checkpoint user:code");
  EXPECT_EQ(Decided(policies, "sudo python3 -c 'x'"), "require_approval builtin:escape");
  EXPECT_EQ(Decided(policies, "perl -e 'x'"), "require_approval builtin:escape");
  const auto refused = ParsePolicy(text, "p.toml", Origin::kWorkspace);
  ASSERT_EQ(refused.code(), EINVAL);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("p.toml:6: rule code: only the user's own file"));
}

TEST(PolicyTest, AnExplanationHasEveryPart) {
  const Explanation explanation = PolicySet({}).Explain(RequestFor("ls | xargs rm"));
  ASSERT_EQ(explanation.parts.size(), 3u);
  EXPECT_EQ(explanation.parts[1].part.program, "xargs");
  EXPECT_EQ(explanation.parts[1].rule, "builtin:reading");
  EXPECT_EQ(explanation.parts[2].rule, "builtin:mutation");
}

}  // namespace
}  // namespace agentfs::policy
