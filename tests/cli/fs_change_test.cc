// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>

#include "program.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(WorkspaceCliTest, MkdirMakesDirectories) {
  Do({"fs", "mkdir", "/d", "/e"});
  EXPECT_EQ(Do({"fs", "stat", "/d", "--json"}).Json()["mode"], "0755");
  Do({"fs", "mkdir", "-m", "700", "/private"});
  EXPECT_EQ(Do({"fs", "stat", "/private", "--json"}).Json()["mode"], "0700");
  Do({"fs", "mkdir", "-p", "/x/y/z", "/src"});
  EXPECT_EQ(Do({"fs", "mkdir", "-p", "/x/y/z", "--json"}).Json()[0]["type"], "directory");
  ExpectFailure({"fs", "mkdir", "/src"}, 3, "EEXIST");
  ExpectFailure({"fs", "mkdir", "/a/b"}, 4, "ENOENT");
  EXPECT_THAT(Try({"fs", "mkdir", "/a/b"}).err, HasSubstr("\n-p "));
  ExpectFailure({"fs", "mkdir", "-p", "/README/x"}, 125, "ENOTDIR");
}

TEST_F(WorkspaceCliTest, RmRemovesFromTheBranchOnly) {
  Do({"fs", "rm", "/README"});
  EXPECT_EQ(Do({"fs", "ls"}).out, "src\n");
  EXPECT_EQ(ReadHost("base/README"), "read me\n");
  ExpectFailure({"fs", "rm", "/src"}, 125, "EISDIR");
  EXPECT_THAT(Try({"fs", "rm", "/src"}).err, HasSubstr("\n-r "));
  EXPECT_EQ(Do({"fs", "rm", "-r", "/src", "--json"}).Json()["removed"][0], "/src");
  EXPECT_EQ(Do({"fs", "ls"}).out, "");
  EXPECT_TRUE(std::filesystem::exists(At("base/src/a.c")));
  ExpectFailure({"fs", "rm", "/src"}, 4, "ENOENT");
  Do({"fs", "rm", "-rf", "/src", "/absent"});
  // A directory made again is a new one.
  Do({"fs", "mkdir", "/src"});
  EXPECT_EQ(Do({"fs", "ls", "/src"}).out, "");
}

TEST_F(WorkspaceCliTest, MvRenamesAndMoves) {
  Do({"fs", "mv", "/src", "/lib"});
  EXPECT_EQ(Do({"fs", "cat", "/lib/a.c"}).out, "int a;\n");
  EXPECT_EQ(Try({"fs", "ls", "/src"}).status, 4);
  Do({"fs", "mv", "/README", "/lib"});
  EXPECT_THAT(Do({"fs", "ls", "/lib"}).Lines(), ElementsAre("README", "a.c", "b.c"));
  Do({"fs", "mv", "/lib/a.c", "/lib/b.c"});
  EXPECT_EQ(Do({"fs", "cat", "/lib/b.c"}).out, "int a;\n");
  ExpectFailure({"fs", "mv", "-n", "/lib/b.c", "/lib/README"}, 3, "EEXIST");
  auto json = Do({"fs", "mv", "/lib/b.c", "/lib/README", "/", "--json"}).Json();
  EXPECT_EQ(json["moved"].size(), 2u);
  EXPECT_THAT(Do({"fs", "ls"}).Lines(), ElementsAre("README", "b.c", "lib"));
  ExpectFailure({"fs", "mv", "/absent", "/x"}, 4, "ENOENT");
  ExpectFailure({"fs", "mv", "/README", "/b.c", "/absent"}, 125, "ENOTDIR");
  ExpectFailure({"fs", "mv", "/lib", "/lib/inside"}, 2, "EINVAL");
  EXPECT_TRUE(std::filesystem::exists(At("base/src/a.c")));
}

TEST_F(WorkspaceCliTest, CpCopiesFilesAndTrees) {
  Do({"fs", "cp", "/README", "/copy"});
  Do({"fs", "write", "/copy"}, "changed");
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
  ExpectFailure({"fs", "cp", "/src", "/d"}, 125, "EISDIR");
  EXPECT_THAT(Try({"fs", "cp", "/src", "/d"}).err, HasSubstr("\n-r "));
  Do({"fs", "cp", "-r", "/src", "/d"});
  EXPECT_THAT(Do({"fs", "ls", "/d"}).Lines(), ElementsAre("a.c", "b.c"));
  // Into a directory that is there, and onto one: files that only it has stay.
  Do({"fs", "cp", "-r", "/src", "/d"});
  EXPECT_EQ(Do({"fs", "cat", "/d/src/a.c"}).out, "int a;\n");
  Do({"fs", "write", "/d/src/own"}, "own");
  Do({"fs", "write", "/src/a.c"}, "newer");
  Do({"fs", "cp", "-r", "/src", "/d"});
  EXPECT_EQ(Do({"fs", "cat", "/d/src/own", "/d/src/a.c"}).out, "ownnewer");
  Do({"fs", "cp", "/README", "/src/a.c", "/d"});
  EXPECT_EQ(Do({"fs", "cat", "/d/a.c"}).out, "newer");
  ExpectFailure({"fs", "cp", "-n", "/README", "/copy"}, 3, "EEXIST");
  ExpectFailure({"fs", "cp", "-r", "/src", "/src/inside"}, 2, "EINVAL");
  ExpectFailure({"fs", "cp", "/absent", "/x"}, 4, "ENOENT");
  EXPECT_EQ(Do({"fs", "cp", "/README", "/c2", "--json"}).Json()["copied"][0]["to"], "/c2");
}

TEST_F(WorkspaceCliTest, CpCopiesWhatALinkNamesAndWithRTheLink) {
  Do({"fs", "ln", "-s", "src/a.c", "/l"});
  Do({"fs", "cp", "/l", "/file"});
  EXPECT_EQ(Do({"fs", "stat", "/file", "--json"}).Json()["type"], "file");
  Do({"fs", "cp", "-r", "/l", "/link"});
  EXPECT_EQ(Do({"fs", "stat", "/link", "--json"}).Json()["target"], "src/a.c");
}

TEST_F(WorkspaceCliTest, LnMakesLinks) {
  Do({"fs", "ln", "/README", "/hard"});
  EXPECT_EQ(Do({"fs", "stat", "/README", "--json"}).Json()["nlink"], 2);
  Do({"fs", "append", "/hard"}, "both");
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\nboth");
  EXPECT_EQ(Do({"fs", "ln", "-s", "anything", "/soft", "--json"}).Json()[0]["target"], "anything");
  ExpectFailure({"fs", "ln", "-s", "x", "/soft"}, 3, "EEXIST");
  Do({"fs", "ln", "-sf", "other", "/soft"});
  EXPECT_EQ(Do({"fs", "stat", "/soft", "--json"}).Json()["target"], "other");
  Do({"fs", "ln", "/README", "/src"});
  EXPECT_EQ(Do({"fs", "cat", "/src/README"}).out, "read me\nboth");
  ExpectFailure({"fs", "ln", "/absent", "/x"}, 4, "ENOENT");
  EXPECT_NE(Try({"fs", "ln", "/src", "/dirlink"}).status, 0);
}

TEST_F(WorkspaceCliTest, ChmodTakesOctalAndSymbolicModes) {
  auto mode = [&](const std::string& path) {
    return Do({"fs", "stat", path, "--json"}).Json()["mode"].get<std::string>();
  };
  Do({"fs", "chmod", "755", "/README"});
  EXPECT_EQ(mode("/README"), "0755");
  Do({"fs", "chmod", "u-x,go=", "/README"});
  EXPECT_EQ(mode("/README"), "0600");
  EXPECT_EQ(Do({"fs", "chmod", "-R", "go+w", "/src", "--json"}).Json()[0]["mode"], "0777");
  EXPECT_EQ(mode("/src/a.c"), "0666");
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
  ExpectFailure({"fs", "chmod", "bogus", "/README"}, 2, "EINVAL");
  ExpectFailure({"fs", "chmod", "755", "/absent"}, 4, "ENOENT");
}

TEST_F(WorkspaceCliTest, SnapshotsCannotBeChanged) {
  Do({"snapshot", "create", "s"});
  for (const std::vector<std::string>& command : {std::vector<std::string>{"fs", "rm", "/README"},
                                                  {"fs", "mkdir", "/d"},
                                                  {"fs", "chmod", "700", "/README"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--branch", "s"});
    ExpectFailure(arguments, 4, "ENOENT");  // no branch of that name
  }
}

}  // namespace
}  // namespace agentfs
