// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

TEST_F(WorkspaceCliTest, LsListsSortedOneNameALine) {
  Do({"fs", "write", "/.hidden"}, "");
  Do({"fs", "write", "/Z"}, "");
  EXPECT_THAT(Do({"fs", "ls"}).Lines(), ElementsAre(".hidden", "README", "Z", "src"));
  EXPECT_THAT(Do({"fs", "ls", "/src"}).Lines(), ElementsAre("a.c", "b.c"));
  EXPECT_THAT(Do({"fs", "ls", "src/"}).Lines(), ElementsAre("a.c", "b.c"));
  EXPECT_THAT(Do({"fs", "ls", "/src/a.c"}).Lines(), ElementsAre("/src/a.c"));
  EXPECT_THAT(Do({"fs", "ls", "-d", "/src"}).Lines(), ElementsAre("/src"));
  EXPECT_THAT(Do({"fs", "ls", "/src", "/README"}).Lines(),
              ElementsAre("/src:", "a.c", "b.c", "", "/README:", "/README"));
}

TEST_F(WorkspaceCliTest, LsLongShowsModesAndSizes) {
  Do({"fs", "ln", "-s", "a.c", "/src/l"});
  auto lines = Do({"fs", "ls", "-l", "/src"}).Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], MatchesRegex("-rw-r--r-- +1 [^ ]+ +[^ ]+ +7 ....-..-.. ..:..:.. a.c"));
  EXPECT_THAT(lines[2], MatchesRegex("lrwxrwxrwx .* l -> a.c"));
  EXPECT_THAT(Do({"fs", "ls", "-lh", "/src"}).out, HasSubstr("7 B"));
}

TEST_F(WorkspaceCliTest, LsJsonIsAnArrayOfEntries) {
  auto json = Do({"fs", "ls", "/src", "--json"}).Json();
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["name"], "a.c");
  EXPECT_EQ(json[0]["path"], "/src/a.c");
  EXPECT_EQ(json[0]["type"], "file");
  EXPECT_EQ(json[0]["size"], 7);
  EXPECT_EQ(json[0]["mode"], "0644");
  EXPECT_THAT(json[0]["mtime"].get<std::string>(), MatchesRegex("....-..-..T..:..:............Z"));
  EXPECT_EQ(Do({"fs", "ls", "/README", "--json"}).Json()[0]["path"], "/README");
  EXPECT_EQ(Do({"fs", "ls", "--json"}).Json().size(), 2u);
}

TEST_F(WorkspaceCliTest, LsShowsNamesThatAreNotUtf8) {
  WriteHost("base/src/\xff", "");
  EXPECT_THAT(Do({"fs", "ls", "/src"}).Lines(), ElementsAre("a.c", "b.c", "\xff"));
  EXPECT_EQ(Do({"fs", "ls", "/src", "--json"}).Json()[2]["name"], "\xef\xbf\xbd");
}

TEST_F(WorkspaceCliTest, StatSaysWhatTheHostSaysOfABaseFile) {
  struct stat st;
  ASSERT_EQ(::stat(At("base/src/a.c").c_str(), &st), 0);
  auto json = Do({"fs", "stat", "/src/a.c", "--json"}).Json();
  EXPECT_EQ(json["type"], "file");
  EXPECT_EQ(json["size"], 7);
  EXPECT_EQ(json["uid"], st.st_uid);
  EXPECT_EQ(json["nlink"], 1);
  const auto inode = json["inode"];
  Do({"fs", "chmod", "600", "/src/a.c"});
  json = Do({"fs", "stat", "/src/a.c", "--json"}).Json();
  EXPECT_EQ(json["mode"], "0600");
  EXPECT_EQ(json["inode"], inode);
  EXPECT_THAT(Do({"fs", "stat", "/src/a.c"}).out, HasSubstr("mode:   0600 (-rw-------)"));
  EXPECT_EQ(Do({"fs", "stat", "/", "/src", "--json"}).Json().size(), 2u);
  Do({"fs", "ln", "-s", "src", "/l"});
  EXPECT_EQ(Do({"fs", "stat", "/l", "--json"}).Json()["target"], "src");
}

TEST_F(WorkspaceCliTest, TreeDrawsAndCounts) {
  Do({"fs", "mkdir", "-p", "/src/deep/er"});
  EXPECT_EQ(Do({"fs", "tree"}).out,
            "/\n"
            "├── README\n"
            "└── src\n"
            "    ├── a.c\n"
            "    ├── b.c\n"
            "    └── deep\n"
            "        └── er\n"
            "\n3 directories, 3 files\n");
  EXPECT_THAT(Do({"fs", "tree", "-L", "1"}).out, HasSubstr("1 directories, 1 files"));
  auto json = Do({"fs", "tree", "/src", "--json"}).Json();
  EXPECT_EQ(json["path"], "/src");
  ASSERT_EQ(json["children"].size(), 3u);
  EXPECT_EQ(json["children"][2]["children"][0]["name"], "er");
}

TEST_F(WorkspaceCliTest, FindFindsByNameTypeAndDepth) {
  Do({"fs", "ln", "-s", "a.c", "/src/l.c"});
  EXPECT_THAT(Do({"fs", "find"}).Lines(),
              ElementsAre("/", "/README", "/src", "/src/a.c", "/src/b.c", "/src/l.c"));
  EXPECT_THAT(Do({"fs", "find", "/", "--name", "*.c", "--type", "f"}).Lines(),
              ElementsAre("/src/a.c", "/src/b.c"));
  EXPECT_THAT(Do({"fs", "find", "/", "-name", "*.c", "-type", "l"}).Lines(),
              ElementsAre("/src/l.c"));
  EXPECT_THAT(Do({"fs", "find", "/", "-maxdepth", "1", "-type", "d"}).Lines(),
              ElementsAre("/", "/src"));
  EXPECT_EQ(Do({"fs", "find", "/src", "--json"}).Json()[1]["path"], "/src/a.c");
  EXPECT_EQ(Do({"fs", "find", "--name", "nothing"}).out, "");
}

TEST_F(WorkspaceCliTest, DuAddsUpEachFileOnce) {
  Do({"fs", "write", "/src/large"}, std::string(10000, 'x'));
  Do({"fs", "ln", "/src/large", "/src/again"});
  EXPECT_EQ(Do({"fs", "du", "/src"}).out, "10014\t/src\n");
  EXPECT_EQ(Do({"fs", "du", "/"}).out, "10014\t/src\n10022\t/\n");
  EXPECT_EQ(Do({"fs", "du", "-s", "/"}).out, "10022\t/\n");
  EXPECT_EQ(Do({"fs", "du", "-sh", "/"}).out, "9.8 KiB\t/\n");
  auto json = Do({"fs", "du", "-s", "--json"}).Json();
  EXPECT_EQ(json[0]["bytes"], 10022);
  EXPECT_EQ(json[0]["files"], 4);
  EXPECT_EQ(json[0]["directories"], 2);
}

TEST_F(WorkspaceCliTest, ListingErrors) {
  for (const char* command : {"ls", "stat", "tree", "find", "du"}) {
    ExpectFailure({"fs", command, "/absent"}, 4, "ENOENT");
    ExpectFailure({"fs", command, "/", "--branch", "absent"}, 4, "ENOENT");
    ExpectFailure({"fs", command, "/", "--snapshot", "absent"}, 4, "ENOENT");
  }
}

}  // namespace
}  // namespace agentfs
