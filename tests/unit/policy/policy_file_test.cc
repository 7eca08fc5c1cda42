// SPDX-License-Identifier: Apache-2.0
#include "policy/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agentfs::policy {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

std::string Complaint(const std::string& text) {
  const auto policy = ParsePolicy(text, "p.toml", Origin::kUser);
  return policy.ok() ? "" : policy.error().message();
}

TEST(PolicyFileTest, ReadsEverythingARuleCanHave) {
  const auto policy = ParsePolicy(R"(
network = "ask"

[[rule]]
name = "no-force"
program = "git"
subcommand = ["push", "remote *"]
flags = ["--force"]
paths = ["/a/**"]
category = ["networked"]
purpose = "publish"
action = "deny"
justification = "history is shared"
overrides = ["network", "publish"]

[filesystem]
deny_read = "**/.env"
)",
                                  "p.toml", Origin::kUser);
  ASSERT_TRUE(policy.ok()) << policy.error().message();
  EXPECT_EQ(policy->network, Network::kAsk);
  ASSERT_EQ(policy->rules.size(), 1u);
  const Rule& rule = policy->rules[0];
  EXPECT_EQ(rule.name, "no-force");
  EXPECT_THAT(rule.subcommands, ElementsAre("push", "remote *"));
  EXPECT_EQ(rule.paths.at(0).text(), "/a/**");
  EXPECT_THAT(rule.categories, ElementsAre(Category::kNetworked));
  EXPECT_THAT(rule.purposes, ElementsAre(Purpose::kPublish));
  EXPECT_EQ(rule.action, Action::kDeny);
  EXPECT_EQ(rule.justification, "history is shared");
  EXPECT_EQ(rule.line, 4);
  EXPECT_FALSE(policy->paths.Check("/.env", Access::kRead).allowed);
}

TEST(PolicyFileTest, AnEmptyFileIsAPolicy) { EXPECT_EQ(Complaint(""), ""); }

TEST(PolicyFileTest, TheBuiltInTextKeepsItsExamples) {
  const auto policy = ParsePolicy(BuiltInPolicyText(), "builtin", Origin::kBuiltIn);
  ASSERT_TRUE(policy.ok()) << policy.error().message();
  for (const Rule& rule : policy->rules) {
    EXPECT_FALSE(rule.match.empty()) << rule.name;
    EXPECT_FALSE(rule.not_match.empty()) << rule.name;
    const auto kept = rule.CheckExamples();
    EXPECT_TRUE(kept.ok()) << rule.name << ": " << kept.error().message();
  }
}

TEST(PolicyFileTest, ExamplesAreCheckedWhenTheFileIsRead) {
  const std::string rule = "[[rule]]\nname = 'r'\nprogram = 'rm'\naction = 'deny'\n";
  EXPECT_EQ(Complaint(rule + "match = ['rm x', 'sudo rm y', 'find . -exec rm {} +']\n"
                             "not_match = ['ls', 'echo rm']"),
            "");
  EXPECT_EQ(Complaint("\n" + rule + "match = ['ls']"),
            "p.toml:2: rule r: it does not match its example \"ls\"");
  EXPECT_EQ(Complaint(rule + "not_match = ['ls; rm x']"),
            "p.toml:1: rule r: it matches \"ls; rm x\", which it should not");
}

TEST(PolicyFileTest, MistakesAreNamedWithFileLineAndRule) {
  EXPECT_THAT(Complaint("a = \n"), StartsWith("p.toml:1: "));
  EXPECT_EQ(Complaint("\nrules = 1"), "p.toml:2: rules is not a key of policies");
  EXPECT_EQ(Complaint("network = 'no'"), "p.toml:1: network must be one of allow, ask, deny");
  EXPECT_EQ(Complaint("rule = 1"), "p.toml:1: rules are written as [[rule]]");
  EXPECT_EQ(Complaint("[[rule]]\nprogram='a'\n"), "p.toml:1: rule 1: action is missing");
  EXPECT_THAT(Complaint("[[rule]]\naction='deny'\n"),
              StartsWith("p.toml:1: rule 1: it is about nothing"));
  EXPECT_EQ(Complaint("[[rule]]\nname='n'\nprogam='a'\naction='deny'"),
            "p.toml:3: rule n: progam is not a key of rules");
  EXPECT_THAT(Complaint("[[rule]]\nname='n'\naction='forbid'"),
              StartsWith("p.toml:3: rule n: action must be one of"));
  EXPECT_EQ(Complaint("[[rule]]\nprogram=3\naction='deny'"),
            "p.toml:2: rule 1: program must be a string or a list of them");
  EXPECT_EQ(Complaint("[[rule]]\nprogram=['a',3]\naction='deny'"),
            "p.toml:2: rule 1: program must hold strings");
  EXPECT_EQ(Complaint("[[rule]]\ncategory='bad'\naction='deny'"),
            "p.toml:2: rule 1: there is no category bad");
  EXPECT_EQ(Complaint("[[rule]]\npurpose='fun'\naction='deny'"),
            "p.toml:2: rule 1: purpose must be one of general, build, publish");
  EXPECT_EQ(Complaint("[[rule]]\nprogram='a'\naction='deny'\noverrides='x'"),
            "p.toml:4: rule 1: there is no built-in rule x");
  EXPECT_EQ(Complaint("[[rule]]\npaths='/[a'\naction='deny'"),
            "p.toml:2: rule 1: paths \"/[a\": a [ is not closed");
  EXPECT_EQ(Complaint("filesystem = 1"), "p.toml:1: filesystem: it must be a table");
  EXPECT_EQ(Complaint("[filesystem]\ndeny = []"),
            "p.toml:2: filesystem: deny is not one of its keys");
  EXPECT_EQ(Complaint("[filesystem]\ndeny_read = ['{']"),
            "p.toml:1: filesystem: deny_read \"{\": a { is not closed");
}

}  // namespace
}  // namespace agentfs::policy
