// SPDX-License-Identifier: Apache-2.0
//
// What the parts of commands say about themselves; the categories of many commands are in
// commands.txt.
#include "policy/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agentfs::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Surroundings Project() {
  Surroundings surroundings;
  surroundings.root = "/srv/project";
  surroundings.directory = "/srv/project/src";
  surroundings.home = "/home/user";
  return surroundings;
}

std::vector<std::string> Programs(const std::string& text) {
  std::vector<std::string> programs;
  for (const Part& part : ClassifyText(text, Project()).parts) programs.push_back(part.program);
  return programs;
}

std::vector<std::string> PathsOf(const std::string& text, Access access) {
  std::vector<std::string> paths;
  for (const Part& part : ClassifyText(text, Project()).parts) {
    for (const PathUse& use : part.paths) {
      if (use.access == access) paths.push_back(use.path);
    }
  }
  return paths;
}

TEST(ClassifyTest, EveryCommandIsAPart) {
  EXPECT_THAT(Programs("a | b; c $(d) >e && (f)"), ElementsAre("a", "b", "d", ">", "c", "f"));
  EXPECT_THAT(Programs("env timeout 5 sh -c 'x; y'"),
              ElementsAre("env", "timeout", "sh", "x", "y"));
  EXPECT_THAT(Programs("# nothing"), IsEmpty());
  EXPECT_THAT(Programs("/usr/bin/ls"), ElementsAre("ls"));
}

TEST(ClassifyTest, APartKnowsItsSubcommandFlagsAndArguments) {
  const auto parts = ClassifyText("git -C sub remote add --tags origin url", Project()).parts;
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].program, "git");
  EXPECT_EQ(parts[0].subcommand, "remote add");
  EXPECT_THAT(parts[0].flags, ElementsAre("-C", "--tags"));
  EXPECT_THAT(parts[0].arguments, ElementsAre("origin", "url"));
  EXPECT_EQ(parts[0].Text(), "git -C sub remote add --tags origin url");
  EXPECT_THAT(ClassifyText("rm -rf a", Project()).parts[0].flags, ElementsAre("-r", "-f"));
}

TEST(ClassifyTest, PathsAreFoundFromWhereTheCommandRuns) {
  EXPECT_THAT(PathsOf("cat a ../b /etc/c ~/d", Access::kRead),
              ElementsAre("/srv/project/src/a", "/srv/project/b", "/etc/c", "/home/user/d"));
  EXPECT_THAT(PathsOf("cp a b", Access::kWrite), ElementsAre("/srv/project/src/b"));
  EXPECT_THAT(PathsOf("rm a b", Access::kWrite),
              ElementsAre("/srv/project/src/a", "/srv/project/src/b"));
  EXPECT_THAT(PathsOf("cd .. && rm a", Access::kWrite), ElementsAre("/srv/project/a"));
  EXPECT_THAT(PathsOf("cd $x; rm a", Access::kWrite), IsEmpty());
  EXPECT_THAT(PathsOf("rm $x", Access::kWrite), IsEmpty());
  EXPECT_THAT(PathsOf("grep -r word lib", Access::kRead), ElementsAre("/srv/project/src/lib"));
  EXPECT_THAT(PathsOf("sort -o x y", Access::kWrite), ElementsAre("/srv/project/src/x"));
  EXPECT_THAT(PathsOf("dd if=a of=b", Access::kWrite), ElementsAre("/srv/project/src/b"));
  EXPECT_THAT(PathsOf("a < b > c", Access::kWrite), ElementsAre("/srv/project/src/c"));
  EXPECT_THAT(PathsOf("< b", Access::kRead), ElementsAre("/srv/project/src/b"));
}

TEST(ClassifyTest, MoreWritableDirectoriesAreNotBeyondTheView) {
  Surroundings surroundings = Project();
  EXPECT_TRUE(ClassifyText("touch /opt/x", surroundings).categories.Has(Category::kHostEscapeRisk));
  surroundings.writable.push_back("/opt");
  EXPECT_FALSE(
      ClassifyText("touch /opt/x", surroundings).categories.Has(Category::kHostEscapeRisk));
  EXPECT_TRUE(ClassifyText("touch /optx", surroundings).categories.Has(Category::kHostEscapeRisk));
}

TEST(ClassifyTest, WordsAreNotShellText) {
  const Surroundings project = Project();
  EXPECT_EQ(ClassifyArguments({"echo", "$(rm x); rm y"}, project).categories, CategorySet());
  EXPECT_EQ(ClassifyArguments({"ls", "*", "$x"}, project).categories, CategorySet());
  EXPECT_TRUE(
      ClassifyArguments({"sh", "-c", "rm x"}, project).categories.Has(Category::kDestructive));
  EXPECT_TRUE(ClassifyArguments({"rm -rf x"}, project).categories.Has(Category::kMutating));
}

TEST(ClassifyTest, AnInputThatNobodyHasSeenIsARiskForInterpreters) {
  Surroundings surroundings = Project();
  EXPECT_EQ(ClassifyArguments({"bash"}, surroundings).categories,
            CategorySet(Category::kInteractive));
  surroundings.has_input = true;
  for (const char* shell : {"bash", "python3", "node"}) {
    EXPECT_TRUE(ClassifyArguments({shell}, surroundings).categories.Has(Category::kHostEscapeRisk));
    EXPECT_TRUE(ClassifyText(shell, surroundings).categories.Has(Category::kHostEscapeRisk));
  }
  EXPECT_EQ(ClassifyText("cat", surroundings).categories, CategorySet());
}

TEST(ClassifyTest, DepthAndSizeAreBounded) {
  std::string nested = "ls";
  for (int i = 0; i < 200; ++i) nested = "env " + nested;
  EXPECT_TRUE(ClassifyText(nested, Project()).categories.Has(Category::kHostEscapeRisk));
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "ls\n";
  const auto classification = ClassifyText(many, Project());
  EXPECT_LE(classification.parts.size(), 10'000u);
  EXPECT_TRUE(classification.categories.Has(Category::kHostEscapeRisk));
}

#ifdef AGENTFS_SANITIZED
constexpr size_t kLongText = 1 << 17;
#else
constexpr size_t kLongText = 1 << 20;  // the greatest length
#endif

std::string Repeated(const std::string& begin, const std::string& piece, const std::string& end) {
  std::string text = begin;
  while (text.size() + piece.size() + end.size() < kLongText) text += piece;
  return text + end;
}

TEST(ClassifyTest, LongTextsTakeTimeInProportion) {
  const Surroundings project = Project();
  for (const std::string& text : {Repeated("echo ", "]", ""),
                                  Repeated("echo [", "]", ""),
                                  Repeated("echo {a", ",a", "}"),
                                  Repeated("echo ", "{a,b}", ""),
                                  Repeated("echo ", "{", ""),
                                  Repeated("a ", "<<a ", "\n"),
                                  Repeated("", "a=1 <<a ", ""),
                                  Repeated("awk '", "||", "'"),
                                  Repeated("awk '", "|", "'"),
                                  Repeated("sed '", "s/a/b/;", "'"),
                                  Repeated("", "a[b]=", ""),
                                  Repeated("", "$((", ""),
                                  Repeated("echo ", "'", ""),
                                  Repeated("echo \"", "$x", "\""),
                                  Repeated("", "a;", ""),
                                  Repeated("xargs -I{} echo ", "{} ", ""),
                                  Repeated("cat <<E\n", "x\n", "E\n"),
                                  Repeated("", "f() { a; }; ", ""),
                                  Repeated("git ", "-c a=b ", "log"),
                                  Repeated("parallel ", "{}", ""),
                                  Repeated("", "{a,b} ", ""),
                                  Repeated("rm ", "../", "")}) {
    EXPECT_LE(ClassifyText(text, project).parts.size(), 10'000u) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace agentfs::policy
