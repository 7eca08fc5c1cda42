// SPDX-License-Identifier: Apache-2.0
#include "policy/path_rules.h"

#include <gtest/gtest.h>

namespace agentfs::policy {
namespace {

TEST(PathRulesTest, WithoutRulesEverythingIsAllowed) {
  const PathRules rules = PathRules::Compile({}).value();
  EXPECT_TRUE(rules.empty());
  EXPECT_TRUE(rules.Check("/a", Access::kRead).allowed);
  EXPECT_TRUE(rules.Check("/a", Access::kWrite).allowed);
}

TEST(PathRulesTest, WhatMayNotBeReadMayNotBeWritten) {
  PathRuleTexts texts;
  texts.deny_read = {"**/.env", "/secrets/**"};
  const PathRules rules = PathRules::Compile(texts).value();
  for (Access access : {Access::kRead, Access::kWrite}) {
    const PathVerdict verdict = rules.Check("/a/.env", access);
    EXPECT_FALSE(verdict.allowed);
    EXPECT_EQ(verdict.rule, "deny_read");
    EXPECT_EQ(verdict.glob, "**/.env");
    EXPECT_FALSE(rules.Check("/secrets/a/b", access).allowed);
    EXPECT_TRUE(rules.Check("/a/.envrc", access).allowed);
  }
}

TEST(PathRulesTest, ADenialOfWritingLeavesReading) {
  PathRuleTexts texts;
  texts.deny_write = {"/vendor"};
  const PathRules rules = PathRules::Compile(texts).value();
  EXPECT_TRUE(rules.Check("/vendor/a.c", Access::kRead).allowed);
  EXPECT_EQ(rules.Check("/vendor/a.c", Access::kWrite).rule, "deny_write");
  EXPECT_TRUE(rules.Check("/src/a.c", Access::kWrite).allowed);
}

TEST(PathRulesTest, APermissionToWriteForbidsTheRest) {
  PathRuleTexts texts;
  texts.allow_write = {"/src/**", "/build/**"};
  texts.deny_write = {"/src/generated/**"};
  const PathRules rules = PathRules::Compile(texts).value();
  EXPECT_TRUE(rules.Check("/src/a.c", Access::kWrite).allowed);
  EXPECT_FALSE(rules.Check("/src/generated/a.c", Access::kWrite).allowed);
  const PathVerdict verdict = rules.Check("/README", Access::kWrite);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.rule, "allow_write");
  EXPECT_EQ(verdict.glob, "");
  EXPECT_TRUE(rules.Check("/README", Access::kRead).allowed);
}

TEST(PathRulesTest, AWrongGlobIsNamed) {
  PathRuleTexts texts;
  texts.deny_write = {"/[a"};
  const auto rules = PathRules::Compile(texts);
  ASSERT_EQ(rules.code(), EINVAL);
  EXPECT_EQ(rules.error().message(), "deny_write \"/[a\": a [ is not closed");
}

}  // namespace
}  // namespace agentfs::policy
