// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "program.h"

namespace agentfs {
namespace {

using std::string_literals::operator""s;

TEST_F(WorkspaceCliTest, CatPrintsBaseFilesByteForByte) {
  const std::string bytes = "\0\xff\n\r\n no newline"s;
  WriteHost("base/bytes", bytes);
  EXPECT_EQ(Do({"fs", "cat", "/bytes"}).out, bytes);
  EXPECT_EQ(Do({"fs", "cat", "/src/a.c", "src/b.c"}).out, "int a;\nint b;\n");
}

TEST_F(WorkspaceCliTest, WriteChangesTheBranchAndNotTheBase) {
  EXPECT_EQ(Do({"fs", "write", "/README"}, "changed").out, "");
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "changed");
  EXPECT_EQ(ReadHost("base/README"), "read me\n");
  Do({"fs", "write", "/new"}, "");
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "");
  EXPECT_EQ(Do({"fs", "cat", "/README", "--snapshot", "base"}).out, "read me\n");
  EXPECT_EQ(Do({"fs", "cat", "/README", "--branch", "base"}).out, "read me\n");
}

TEST_F(WorkspaceCliTest, AppendAddsToTheEnd) {
  Do({"fs", "append", "/README"}, "more\n");
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\nmore\n");
  Do({"fs", "append", "/log"}, "1\n");
  Do({"fs", "append", "/log"}, "2\n");
  EXPECT_EQ(Do({"fs", "cat", "/log"}).out, "1\n2\n");
  EXPECT_EQ(ReadHost("base/README"), "read me\n");
}

TEST_F(WorkspaceCliTest, LargeInputIsStreamed) {
  std::string large;
  for (int i = 0; large.size() < (20u << 20); ++i) large += std::to_string(i) + "\n";
  Do({"fs", "write", "/large"}, large);
  EXPECT_TRUE(Do({"fs", "cat", "/large"}).out == large);
  Do({"fs", "append", "/large"}, large);
  EXPECT_EQ(Do({"fs", "stat", "/large", "--json"}).Json()["size"], large.size() * 2);
  Do({"fs", "write", "/large"}, "small again");
  EXPECT_EQ(Do({"fs", "cat", "/large"}).out, "small again");
}

TEST_F(WorkspaceCliTest, ContentAsJson) {
  auto text = Do({"fs", "cat", "/README", "--json"}).Json();
  EXPECT_EQ(text["content"], "read me\n");
  EXPECT_EQ(text["size"], 8);
  Do({"fs", "write", "/bytes"}, "\xff\xfe\xfd");
  EXPECT_EQ(Do({"fs", "cat", "/bytes", "--json"}).Json()["content_base64"], "//79");
  EXPECT_EQ(Do({"fs", "cat", "/README", "/bytes", "--json"}).Json().size(), 2u);
  auto written = Do({"fs", "write", "/w", "--json"}, "12345").Json();
  EXPECT_EQ(written["size"], 5);
  EXPECT_EQ(written["path"], "/w");
  EXPECT_EQ(written["mode"], "0644");
}

TEST_F(WorkspaceCliTest, BranchesHaveTheirOwnContent) {
  Do({"branch", "create", "b"});
  Do({"fs", "write", "/README", "--branch", "b"}, "in b");
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
  EXPECT_EQ(Do({"fs", "cat", "/README", "--branch", "b"}).out, "in b");
}

TEST_F(WorkspaceCliTest, LinksAreFollowedWithinTheWorkspace) {
  Do({"fs", "ln", "-s", "src/a.c", "/link"});
  EXPECT_EQ(Do({"fs", "cat", "/link"}).out, "int a;\n");
  Do({"fs", "write", "/link"}, "through");
  EXPECT_EQ(Do({"fs", "cat", "/src/a.c"}).out, "through");
  Do({"fs", "ln", "-s", "/etc/hostname", "/outside"});
  EXPECT_EQ(Try({"fs", "cat", "/outside"}).status, 4);
}

TEST_F(WorkspaceCliTest, ContentErrors) {
  ExpectFailure({"fs", "cat", "/absent"}, 4, "ENOENT");
  ExpectFailure({"fs", "cat", "/src"}, 125, "EISDIR");
  ExpectFailure({"fs", "cat", "/README/x"}, 125, "ENOTDIR");
  ExpectFailure({"fs", "cat", "/README", "--branch", "absent"}, 4, "ENOENT");
  ExpectFailure({"fs", "cat", "/README", "--snapshot", "absent"}, 4, "ENOENT");
  ExpectFailure({"fs", "write", "/absent/f"}, 4, "ENOENT", "x");
  ExpectFailure({"fs", "write", "/src"}, 125, "EISDIR", "x");
  ExpectFailure({"fs", "write", "/" + std::string(256, 'n')}, 2, "ENAMETOOLONG", "x");
  ExpectFailure({"fs", "write", "/f", "--branch", "absent"}, 4, "ENOENT", "x");
  EXPECT_EQ(Try({"fs", "cat", "/absent", "--json"}).Json()["error"]["path"], "/absent");
}

TEST_F(WorkspaceCliTest, TheWorkspacesOwnDirectoryIsInvisible) {
  EXPECT_EQ(Try({"fs", "cat", "/.agentfs/config.toml"}).status, 4);
  EXPECT_THAT(Do({"fs", "ls", "/"}).Lines(), testing::ElementsAre("README", "src"));
}

}  // namespace
}  // namespace agentfs
