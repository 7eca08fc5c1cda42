// SPDX-License-Identifier: Apache-2.0
#include "policy/program_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agentfs::policy {
namespace {

using testing::HasSubstr;

TEST(ProgramTableTest, TheBuiltInFactsAreWellFormed) {
  const auto table = ProgramTable::Parse(BuiltInFacts());
  ASSERT_TRUE(table.ok()) << table.error().message();
  ASSERT_NE(table->Find("git push"), nullptr);
  EXPECT_EQ(table->Find("git push")->purpose, Purpose::kPublish);
  EXPECT_EQ(table->Find("no-such-program"), nullptr);
}

TEST(ProgramTableTest, VersionsOfAProgramAreTheProgram) {
  const ProgramTable& table = ProgramTable::BuiltIn();
  for (const char* name : {"python3", "python3.11", "python"}) {
    EXPECT_EQ(table.Find(name), table.Find("python")) << name;
  }
  EXPECT_EQ(table.Find("gcc-12"), table.Find("gcc"));
  EXPECT_EQ(table.Find("clang++-14"), table.Find("clang++"));
  EXPECT_EQ(WithoutVersion("7"), "7");
}

TEST(ProgramTableTest, FactsOfALine) {
  const auto table = ProgramTable::Parse(
      "# remark\n\nx y : destructive skip=2 takes=-a,--bc -i,--in->networked !-m->interactive\n"
      "x,y / z : publish\n$V : mutating\n");
  ASSERT_TRUE(table.ok()) << table.error().message();
  const ProgramFacts* facts = table->Find("y");
  ASSERT_NE(facts, nullptr);
  EXPECT_TRUE(facts->categories.Has(Category::kMutating));
  EXPECT_EQ(facts->skip, 2);
  EXPECT_EQ(facts->takes, (Flags{"-a", "--bc"}));
  EXPECT_EQ(facts->effects.at(0).flags, (Flags{"-i", "--in"}));
  EXPECT_EQ(facts->without.at(0).adds, CategorySet(Category::kInteractive));
  EXPECT_EQ(table->Find("x z")->purpose, Purpose::kPublish);
  EXPECT_EQ(table->EnvironmentEffect("V"), CategorySet(Category::kMutating));
  EXPECT_EQ(table->EnvironmentEffect("W"), CategorySet());
}

TEST(ProgramTableTest, MistakesAreNamedWithTheirLine) {
  const auto message = [](std::string_view text) {
    const auto table = ProgramTable::Parse(text);
    return table.ok() ? "" : table.error().message();
  };
  EXPECT_THAT(message("a : read_only\nb read_only"), HasSubstr("line 2: ' : ' is missing"));
  EXPECT_THAT(message("a : redonly"), HasSubstr("line 1: 'redonly' is no fact"));
  EXPECT_THAT(message("a : -i->x"), HasSubstr("'x' is no fact"));
  EXPECT_THAT(message("a : taks=-i"), HasSubstr("'taks' is no fact"));
  EXPECT_THAT(message("a : skip=x"), HasSubstr("'skip' is no fact"));
  EXPECT_THAT(message("a b : read_only\nb : read_only"), HasSubstr("'b' is there twice"));
}

}  // namespace
}  // namespace agentfs::policy
