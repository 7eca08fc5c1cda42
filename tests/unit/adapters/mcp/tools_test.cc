// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "mcp_rig.h"

namespace agentfs::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ToolsTest : public McpTest {
 protected:
  void Write(const std::string& path, const std::string& content) {
    ASSERT_TRUE(files().WriteBytes(path, content).ok());
  }
  std::string Read(const std::string& path) { return files().ReadBytes(path).value(); }
};

TEST_F(ToolsTest, HeadAndTailAreTheFirstAndLastLines) {
  Write("/f", "1\n2\n3\n4\n");
  Write("/open", "1\n2\n3");
  const auto lines = [&](const char* path, const char* which, double count) {
    return Text("read_text_file", {{"path", path}, {which, count}});
  };
  EXPECT_EQ(Text("read_text_file", {{"path", "/f"}}), "1\n2\n3\n4\n");
  EXPECT_EQ(lines("/f", "head", 2), "1\n2");
  EXPECT_EQ(lines("/f", "head", 9), "1\n2\n3\n4");
  EXPECT_EQ(lines("/f", "tail", 2), "3\n4");
  EXPECT_EQ(lines("/f", "tail", 9), "1\n2\n3\n4");
  EXPECT_EQ(lines("/open", "tail", 1), "3");
  EXPECT_EQ(lines("/open", "head", 3), "1\n2\n3");
  EXPECT_THAT(Failure("read_text_file", {{"path", "/f"}, {"head", 1}, {"tail", 1}}),
              HasSubstr("both head and tail"));
  EXPECT_THAT(Failure("read_text_file", {{"path", "/f"}, {"head", -1}}), HasSubstr("head"));
}

TEST_F(ToolsTest, LinesOfALargeFileAreFoundInPieces) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += "line " + std::to_string(i) + "\n";
  Write("/f", text);
  const std::string tail = Text("read_text_file", {{"path", "/f"}, {"tail", 30'000}});
  EXPECT_EQ(tail.substr(0, 10), "line 30000");
  EXPECT_EQ(tail.substr(tail.size() - 10), "line 59999");
  const std::string head = Text("read_text_file", {{"path", "/f"}, {"head", 30'000}});
  EXPECT_EQ(head.substr(head.size() - 10), "line 29999");
}

TEST_F(ToolsTest, AFileThatIsTooLargeIsRefusedButItsEndIsNot) {
  const auto fs = files().filesystem();
  Write("/large", "x");
  AttrChange change;
  change.size = uint64_t{1} << 40;
  ASSERT_TRUE(fs->SetAttr({}, *files().Resolve("/large")->node, change).ok());
  EXPECT_THAT(Failure("read_text_file", {{"path", "/large"}}), HasSubstr("head"));
  EXPECT_THAT(Failure("read_text_file", {{"path", "/large"}, {"head", 2}}), HasSubstr("EFBIG"));
  ASSERT_TRUE(files().Append("/large", "\nend\n").ok());
  EXPECT_EQ(Text("read_text_file", {{"path", "/large"}, {"tail", 1}}), "end");
}

TEST_F(ToolsTest, MediaIsImagesSoundsAndOtherFiles) {
  Write("/a.PNG", "x");
  Write("/a.flac", "x");
  Write("/a.bin", "x");
  const auto block = [&](const char* path) {
    return Call("read_media_file", {{"path", path}})["structuredContent"]["content"][0];
  };
  EXPECT_EQ(block("/a.PNG"),
            Json({{"type", "image"}, {"data", "eA=="}, {"mimeType", "image/png"}}));
  EXPECT_EQ(block("/a.flac")["type"], "audio");
  EXPECT_EQ(block("/a.bin")["resource"]["uri"], "file:///home/me/project/a.bin");
}

TEST_F(ToolsTest, OneUnreadableFileDoesNotStopTheOthers) {
  Write("/a", "A");
  Write("/b", "B");
  EXPECT_EQ(Text("read_multiple_files", {{"paths", {"/a", "/none", "/b"}}}),
            "/a:\nA\n\n---\n/none: Error - ENOENT: no such file or directory, "
            "'/home/me/project/none'\n---\n/b:\nB\n");
}

TEST_F(ToolsTest, WritingMakesAndReplacesFiles) {
  EXPECT_EQ(Text("write_file", {{"path", "/f"}, {"content", "\xC3\xA4\n"}}),
            "Successfully wrote to /f");
  EXPECT_EQ(Read("/f"), "\xC3\xA4\n");
  ASSERT_TRUE(files().SetMode("/f", 0755).ok());
  Text("write_file", {{"path", "/home/me/project/f"}, {"content", ""}});
  EXPECT_EQ(Read("/f"), "");
  EXPECT_EQ(files().Entry("/f")->attr.mode & 07777, 0755u);
  EXPECT_THAT(Failure("write_file", {{"path", "/no/f"}, {"content", ""}}), HasSubstr("ENOENT"));
  EXPECT_THAT(Failure("write_file", {{"path", "/"}, {"content", ""}}), HasSubstr("EISDIR"));
  EXPECT_GT(host_->published, 0);
}

TEST_F(ToolsTest, AnEditShowsWhatItDoesAndADryRunDoesNot) {
  Write("/f", "a\r\nb\r\nc\r\n");
  const Json edits = Json::array({{{"oldText", "b"}, {"newText", "B\nBB"}}});
  const std::string preview =
      Text("edit_file", {{"path", "/f"}, {"edits", edits}, {"dryRun", true}});
  EXPECT_THAT(preview, HasSubstr("--- /home/me/project/f\toriginal\n"));
  EXPECT_THAT(preview, HasSubstr("-b\n+B\n+BB\n c\n"));
  EXPECT_EQ(Read("/f"), "a\r\nb\r\nc\r\n");
  EXPECT_EQ(Text("edit_file", {{"path", "/f"}, {"edits", edits}}), preview);
  EXPECT_EQ(Read("/f"), "a\r\nB\r\nBB\r\nc\r\n");
  EXPECT_THAT(
      Failure("edit_file", {{"path", "/f"}, {"edits", {{{"oldText", "zz"}, {"newText", ""}}}}}),
      HasSubstr("Could not find exact match for edit:\nzz"));
}

TEST_F(ToolsTest, DirectoriesAreMadeListedAndShownAsATree) {
  EXPECT_EQ(Text("create_directory", {{"path", "/d/e"}}), "Successfully created directory /d/e");
  Text("create_directory", {{"path", "/d/e"}});
  Write("/d/f.txt", std::string(1536, 'x'));
  EXPECT_EQ(Text("list_directory", {{"path", "/d"}}), "[DIR] e\n[FILE] f.txt");
  EXPECT_EQ(Text("list_directory_with_sizes", {{"path", "/d"}, {"sortBy", "size"}}),
            "[FILE] f.txt                             1.50 KB\n"
            "[DIR] e                              \n\n"
            "Total: 1 files, 1 directories\nCombined size: 1.50 KB");
  EXPECT_EQ(Json::parse(Text("directory_tree", {{"path", "/"}})),
            Json::parse(R"([{"name":"d","type":"directory","children":[
                {"name":"e","type":"directory","children":[]},{"name":"f.txt","type":"file"}]}])"));
  EXPECT_EQ(
      Json::parse(Text("directory_tree", {{"path", "/"}, {"excludePatterns", {"e", "**/*.txt"}}})),
      Json::parse(R"([{"name":"d","type":"directory","children":[]}])"));
}

TEST_F(ToolsTest, SearchingMatchesPathsBelowTheDirectory) {
  ASSERT_TRUE(files().CreateDirectories("/src/deep/node_modules").ok());
  for (const char* path : {"/src/a.c", "/src/deep/b.c", "/src/deep/node_modules/c.c", "/src/x.h"}) {
    Write(path, "");
  }
  const auto found = [&](const char* pattern, const Json& exclude) {
    return Text("search_files",
                {{"path", "/src"}, {"pattern", pattern}, {"excludePatterns", exclude}});
  };
  EXPECT_EQ(found("*.c", Json::array()), "/home/me/project/src/a.c");
  EXPECT_EQ(found("**/*.c", {"**/node_modules/**"}),
            "/home/me/project/src/a.c\n/home/me/project/src/deep/b.c");
  EXPECT_EQ(found("*.py", Json::array()), "No matches found");
  EXPECT_THAT(Failure("search_files", {{"path", "/src"}, {"pattern", "["}}), HasSubstr("["));
}

TEST_F(ToolsTest, MovingCopyingAndDeletingDoNotDestroyUnasked) {
  Write("/a", "A");
  Write("/b", "B");
  EXPECT_EQ(Failure("move_file", {{"source", "/a"}, {"destination", "/b"}}),
            "Destination already exists: /home/me/project/b");
  EXPECT_THAT(Failure("copy_file", {{"source", "/a"}, {"destination", "/b"}}),
              HasSubstr("already exists"));
  Text("copy_file", {{"source", "/a"}, {"destination", "/b"}, {"overwrite", true}});
  EXPECT_EQ(Read("/b"), "A");
  EXPECT_EQ(Text("move_file", {{"source", "/a"}, {"destination", "/c"}}),
            "Successfully moved /a to /c");
  ASSERT_TRUE(files().CreateDirectories("/d/e").ok());
  EXPECT_THAT(Failure("delete_file", {{"path", "/d"}}), HasSubstr("recursive"));
  Text("delete_file", {{"path", "/d"}, {"recursive", true}});
  Text("delete_file", {{"path", "/c"}});
  EXPECT_EQ(files().ListNames("/").value(), std::vector<std::string>{"b"});
}

TEST_F(ToolsTest, InformationIsALineEach) {
  Write("/f", "12345");
  EXPECT_THAT(
      Text("get_file_info", {{"path", "/f"}}),
      testing::MatchesRegex("size: 5\ncreated: [^\n]*Z\nmodified: [^\n]*Z\naccessed: [^\n]*Z\n"
                            "isDirectory: false\nisFile: true\npermissions: 644"));
  EXPECT_EQ(Text("list_allowed_directories"), "Allowed directories:\n/home/me/project");
}

TEST_F(ToolsTest, TheReservedDirectoryCannotBeReachedNorMade) {
  ASSERT_TRUE(files().CreateDirectories("/.agentfs/host").ok());
  Write("/.agentfs/host/secret", "s");
  ASSERT_TRUE(files().CreateSymlink("/link", "/.agentfs/host/secret").ok());
  ASSERT_TRUE(files().CreateDirectory("/d").ok());
  ASSERT_TRUE(files().CreateSymlink("/d/up", "../.agentfs").ok());
  for (const char* path : {"/link", "/.agentfs/host/secret", "/d/up/host/secret",
                           "/home/me/project/d/../.agentfs/host/secret"}) {
    EXPECT_THAT(Failure("read_text_file", {{"path", path}}), HasSubstr("ENOENT")) << path;
    Failure("write_file", {{"path", path}, {"content", "x"}});
  }
  Failure("delete_file", {{"path", "/.agentfs"}, {"recursive", true}});
  Failure("move_file", {{"source", "/.agentfs"}, {"destination", "/x"}});
  Failure("create_directory", {{"path", "/.agentfs/x"}});
  EXPECT_EQ(Read("/.agentfs/host/secret"), "s");
}

TEST_F(ToolsTest, SwitchingConcernsTheSessionsOwnBranch) {
  Write("/f", "main");
  ASSERT_TRUE(volume_->CreateBranch("b", "main").ok());
  Call("branch_switch", {{"name", "b"}});
  Text("write_file", {{"path", "/f"}, {"content", "b"}});
  EXPECT_EQ(Text("read_text_file", {{"path", "/f"}}), "b");
  EXPECT_EQ(Read("/f"), "main");
  EXPECT_THAT(Failure("branch_switch", {{"name", "none"}}), HasSubstr("branch_list"));
  Call("snapshot", {{"name", "n"}});
  EXPECT_THAT(host_->LastCommand(),
              ElementsAre("--json", "--quiet", "snapshot", "create", "--branch=b", "n"));
}

TEST_F(ToolsTest, WorkspaceToolsAreCommandLines) {
  Call("restore", {{"ref", "s1"}, {"paths", {"/home/me/project/src", "x"}}, {"branch", "b"}});
  EXPECT_THAT(host_->LastCommand(),
              ElementsAre("--json", "--quiet", "restore", "--branch=b", "s1", "/src", "/x"));
  Call("undo");
  EXPECT_THAT(host_->LastCommand(), ElementsAre("--json", "--quiet", "undo", "--branch=main"));
  Call("branch_create", {{"name", "n"}});
  EXPECT_THAT(host_->LastCommand(),
              ElementsAre("--json", "--quiet", "branch", "create", "n", "--from=main"));
  Call("snapshot", {{"message", "--x"}});
  EXPECT_THAT(host_->LastCommand(), ElementsAre("--json", "--quiet", "snapshot", "create",
                                                "--branch=main", "--message=--x"));
  Call("query", {{"sql", "--x\nSELECT 1"}, {"limit", 5}});
  EXPECT_THAT(host_->LastCommand(),
              ElementsAre("--json", "--quiet", "sql", "--limit=5", "--", "--x\nSELECT 1"));
  EXPECT_THAT(Failure("restore", {{"ref", "--branch=x"}}), HasSubstr("is no branch"));
}

TEST_F(ToolsTest, ACommandsOutputStatusAndChangesAreTold) {
  const Json result = Call("exec", {{"command", "echo"},
                                    {"cwd", "/home/me/project/src"},
                                    {"read_only", true},
                                    {"timeout_ms", 5000},
                                    {"environment", {"A=b"}},
                                    {"network", false}});
  EXPECT_FALSE(result.contains("isError")) << result;
  EXPECT_EQ(result["content"][0]["text"],
            "echo\n[stderr]\noops\n[exit code 3]\n[changed files]\nA /made\n");
  EXPECT_EQ(result["structuredContent"]["result"]["exit_code"], 3);
  const ExecutionRequest request = host_->LastRequest();
  EXPECT_EQ(request.cwd, "/src");
  EXPECT_EQ(request.branch, "main");
  EXPECT_TRUE(request.read_only);
  EXPECT_FALSE(request.rules.network);
  EXPECT_EQ(request.timeout_ms, 5000);
  EXPECT_THAT(request.environment, ElementsAre("A=b"));
  EXPECT_EQ(host_->Calls().back().exec, 42u);
  EXPECT_EQ(Failure("exec"), "invalid_command: no command\nsay one");
}

TEST_F(ToolsTest, AFailedCommandSaysWhyAndWhatToDo) {
  host_->Answer({4, R"({"error":{"code":"ENOENT","message":"no such","remedy":"make it"}})", "x"});
  EXPECT_EQ(Failure("restore", {{"ref", "s9"}}), "no such\nmake it");
  host_->Answer({2, "", "wrong usage\n"});
  EXPECT_EQ(Failure("undo"), "wrong usage");
}

}  // namespace
}  // namespace agentfs::mcp
