// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "mounted.h"
#include "program.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class DiffTest : public WorkspaceCliTest {
 protected:
  void SetUp() override {
    WorkspaceCliTest::SetUp();
    readme_ = Do({"fs", "cat", "/README"}).out;
  }
  std::string readme_;
};

TEST_F(DiffTest, NothingIsNoDifference) {
  EXPECT_EQ(Do({"diff"}).out, "");
  EXPECT_EQ(Do({"diff", "--exit-code"}).out, "");
  EXPECT_EQ(Do({"diff", "--json"}).Json()["changes"].size(), 0u);
  Do({"fs", "write", "/README"}, readme_);
  EXPECT_EQ(Try({"diff", "--exit-code"}).status, 0);
}

TEST_F(DiffTest, APatchThatGitApplies) {
  Do({"fs", "write", "/README"}, readme_ + "more\n");
  Do({"fs", "write", "/new file"}, "n\n");
  Do({"fs", "mkdir", "/lib"});
  Do({"fs", "write", "/lib/bin"}, std::string("\0\1", 2));
  WriteHost("patch", Do({"diff"}).out);
  const std::string command = "cd '" + At("") + "' && cp -r base copy && rm -rf copy/.agentfs && " +
                              "cd copy && GIT_DIR=/nonexistent git apply ../patch";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(ReadHost("copy/README"), readme_ + "more\n");
  EXPECT_EQ(ReadHost("copy/new file"), "n\n");
  EXPECT_EQ(ReadHost("copy/lib/bin"), std::string("\0\1", 2));
}

TEST_F(DiffTest, NameStatusIsSortedByPath) {
  Do({"fs", "write", "/z"}, "z");
  Do({"fs", "mkdir", "-p", "/dir/empty"});
  Do({"fs", "write", "/dir/a\tb"}, "a");
  Do({"fs", "rm", "/README"});
  Do({"fs", "mv", "/src", "/source"});
  const auto lines = Do({"diff", "--name-status"}).Lines();
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines[0], "D\t/README");
  EXPECT_EQ(lines[1], "A\t\"/dir/a\\tb\"");
  EXPECT_EQ(lines[2], "A\t/dir/empty/");
  EXPECT_THAT(lines[3], testing::StartsWith("R\t/src/"));
  EXPECT_EQ(lines.back(), "A\t/z");
}

TEST_F(DiffTest, StatHasBarsAndDeletionsFirst) {
  Do({"fs", "write", "/a"}, "1\n2\n3\n");
  Do({"fs", "rm", "/README"});
  const auto lines = Do({"diff", "--stat"}).Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], testing::MatchesRegex(" /README \\(gone\\) \\| +[0-9]+ -+"));
  EXPECT_THAT(lines[1], testing::MatchesRegex(" /a \\(new\\) +\\| +3 \\+\\+\\+"));
  EXPECT_THAT(lines[2], HasSubstr(" 2 files changed, 3 insertions(+)"));
}

TEST_F(DiffTest, TheExitStatusTellsWhereAsked) {
  Do({"fs", "write", "/a"}, "1\n");
  EXPECT_EQ(Try({"diff"}).status, 0);
  EXPECT_EQ(Try({"diff", "--exit-code"}).status, 1);
  EXPECT_EQ(Try({"diff", "--exit-code", "/README"}).status, 0);
  EXPECT_EQ(Try({"diff", "--exit-code", "--json"}).status, 1);
}

TEST_F(DiffTest, ComparesRefs) {
  Do({"fs", "write", "/a"}, "1\n");
  Do({"snapshot", "create", "one"});
  Do({"fs", "write", "/b"}, "2\n");
  Do({"branch", "create", "side", "--from", "one"});
  Do({"fs", "write", "/c", "--branch", "side"}, "3\n");
  EXPECT_EQ(Do({"diff", "one", "--name-status"}).out, "A\t/b\n");
  EXPECT_EQ(Do({"diff", "one", "side", "--name-status"}).out, "A\t/c\n");
  EXPECT_EQ(Do({"diff", "main", "one", "--name-status"}).out, "D\t/b\n");
  EXPECT_EQ(Do({"diff", "side", "--name-status"}).out, "A\t/a\nA\t/c\n");
  EXPECT_EQ(Do({"diff", "--branch", "side", "--name-status"}).out, "A\t/a\nA\t/c\n");
  EXPECT_EQ(Do({"diff", "side", "/c", "--name-status"}).out, "A\t/c\n");
}

TEST_F(DiffTest, AfterDashesThereAreOnlyPaths) {
  Do({"fs", "write", "/a"}, "1\n");
  Do({"snapshot", "create", "one"});
  Do({"fs", "write", "/b"}, "2\n");
  EXPECT_EQ(Try({"diff", "--", "main"}).status, 4);
  EXPECT_EQ(Try({"diff", "one", "--", "main"}).status, 4);
  EXPECT_EQ(Try({"diff", "--", "/a", "--stat"}).status, 4);
  EXPECT_EQ(Do({"diff", "--name-status", "one", "--", "/b"}).out, "A\t/b\n");
  EXPECT_EQ(Try({"restore", "--", "one"}).status, 2);
  Do({"restore", "one", "--", "/b"});
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "A\t/a\n");
}

TEST_F(DiffTest, JsonSaysAllOfIt) {
  Do({"fs", "write", "/a"}, "1\n2\n");
  Do({"fs", "chmod", "600", "/README"});
  const auto json = Do({"diff", "--json", "--stat"}).Json();
  EXPECT_EQ(json["from"], "base");
  EXPECT_EQ(json["to"], "main");
  EXPECT_EQ(json["summary"]["added"], 1);
  ASSERT_EQ(json["changes"].size(), 2u);
  EXPECT_EQ(json["changes"][0]["path"], "/README");
  EXPECT_EQ(json["changes"][0]["status"], "M");
  EXPECT_EQ(json["changes"][0]["mode"], "0600");
  EXPECT_EQ(json["changes"][0]["mode_changed"], true);
  EXPECT_EQ(json["changes"][1]["insertions"], 2);
}

TEST_F(DiffTest, ColoursOnlyWhereTheyAreWanted) {
  Do({"fs", "write", "/a"}, "1\n");
  EXPECT_THAT(Do({"diff"}).out, Not(HasSubstr("\033")));
  EXPECT_THAT(Do({"--color", "diff"}).out, HasSubstr("\033[32m+1\033[m\n"));
  EXPECT_THAT(Do({"--color", "--no-color", "diff"}).out, Not(HasSubstr("\033")));
}

TEST_F(DiffTest, Errors) {
  ExpectFailure({"diff", "absent"}, 4, "ENOENT");
  ExpectFailure({"diff", "/absent"}, 4, "ENOENT");
  ExpectFailure({"diff", "--branch", "absent"}, 4, "ENOENT");
  EXPECT_EQ(Try({"diff", "--stat", "--name-status"}).status, 2);
}

class LiveDiffTest : public MountCliTest {};

TEST_F(LiveDiffTest, SeesWhatProgramsWroteThroughAMount) {
  Mount();
  Write(InMount("made"), "x\n");
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "A\t/made\n");
  EXPECT_THAT(Do({"diff"}).out, HasSubstr("+x\n"));
  Unmount();
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "A\t/made\n");
}

}  // namespace
}  // namespace agentfs
