// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "mcp_rig.h"

namespace agentfs::mcp {
namespace {

class SessionTest : public McpTest {};

TEST_F(SessionTest, InitializeAgreesOnARevisionAndSaysWhatThereIs) {
  const Json answer = Ask("initialize", {{"protocolVersion", "2025-03-26"},
                                         {"capabilities", Json::object()},
                                         {"clientInfo", {{"name", "t"}, {"version", "1"}}}});
  const Json& result = answer["result"];
  EXPECT_EQ(result["protocolVersion"], "2025-03-26");
  EXPECT_EQ(result["serverInfo"]["name"], "agentfs");
  EXPECT_EQ(result["serverInfo"]["version"], "1.2.3");
  EXPECT_TRUE(result["capabilities"].contains("tools"));
  EXPECT_TRUE(result["capabilities"].contains("resources"));
  EXPECT_EQ(Ask("ping")["result"], Json::object());
}

TEST_F(SessionTest, EveryToolHasSchemasAndAnnotations) {
  std::set<std::string> names;
  const Json answer = Ask("tools/list");
  for (const Json& tool : answer["result"]["tools"]) {
    names.insert(tool["name"].get<std::string>());
    EXPECT_EQ(tool["inputSchema"]["type"], "object") << tool;
    EXPECT_EQ(tool["outputSchema"]["type"], "object") << tool;
    EXPECT_TRUE(tool["annotations"]["readOnlyHint"].is_boolean()) << tool;
    EXPECT_FALSE(tool["description"].get<std::string>().empty()) << tool;
    for (const Json& name : tool["inputSchema"].value("required", Json::array())) {
      EXPECT_TRUE(tool["inputSchema"]["properties"].contains(name.get<std::string>())) << tool;
    }
  }
  for (const char* name : {"read_text_file", "write_file", "edit_file", "directory_tree",
                           "delete_file", "copy_file", "snapshot", "branch_switch"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(SessionTest, MistakesAreErrorsAndTheSessionGoesOn) {
  SendLine("this is not JSON");
  EXPECT_EQ(Receive()["error"]["code"], kParseError);
  SendLine("\"\xff\xfe\"");
  EXPECT_EQ(Receive()["error"]["code"], kParseError);
  SendLine("{}");
  EXPECT_EQ(Receive()["error"]["code"], kInvalidRequest);
  SendLine("");
  SendLine("  \r");
  EXPECT_EQ(Ask("no/such/method")["error"]["code"], kMethodNotFound);
  EXPECT_EQ(Ask("tools/call", {{"name", "rm_rf"}})["error"]["code"], kInvalidParams);
  EXPECT_EQ(Ask("tools/call", {{"name", 7}})["error"]["code"], kInvalidParams);
  EXPECT_EQ(Ask("resources/read")["error"]["code"], kInvalidParams);
  EXPECT_EQ(Ask("resources/list", {{"cursor", "!"}})["error"]["code"], kInvalidParams);
  SendLine(R"({"jsonrpc":"2.0","method":"notifications/unknown"})");
  SendLine(R"({"jsonrpc":"2.0","id":77,"result":{}})");
  SendLine(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}})");
  EXPECT_EQ(Ask("ping")["result"], Json::object());
}

TEST_F(SessionTest, ALineOverTheLimitIsAnErrorOnly) {
  SendLine(std::string(kMaxLine + 1, ' '));
  EXPECT_EQ(Receive()["error"]["code"], kParseError);
  EXPECT_EQ(Ask("ping")["result"], Json::object());
}

TEST_F(SessionTest, WrongArgumentsAreSaidToTheModel) {
  EXPECT_NE(Failure("read_text_file").find("Required at path"), std::string::npos);
  EXPECT_NE(Failure("read_text_file", {{"path", 7}}).find("Expected string"), std::string::npos);
  EXPECT_NE(Failure("write_file", {{"path", "/a"}}).find("content"), std::string::npos);
  EXPECT_NE(Failure("edit_file", {{"path", "/a"}, {"edits", {{{"oldText", "x"}}}}})
                .find("edits[0].newText"),
            std::string::npos);
  EXPECT_NE(Failure("list_directory_with_sizes", {{"path", "/"}, {"sortBy", "x"}}).find("sortBy"),
            std::string::npos);
  EXPECT_NE(Failure("read_multiple_files", {{"paths", Json::array()}}).find("Too few"),
            std::string::npos);
  EXPECT_NE(Failure("list_directory", Json::array()).find("Expected object"), std::string::npos);
}

TEST_F(SessionTest, ABatchIsAnsweredWithABatch) {
  Send(Json::array({{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}},
                    {{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}},
                    {{"jsonrpc", "2.0"},
                     {"id", 2},
                     {"method", "tools/call"},
                     {"params", {{"name", "list_directory"}, {"arguments", {{"path", "/"}}}}}},
                    7}));
  const Json answers = Receive();
  ASSERT_TRUE(answers.is_array());
  EXPECT_EQ(answers.size(), 3u);
  SendLine("[]");
  EXPECT_EQ(Receive()["error"]["code"], kInvalidRequest);
}

TEST_F(SessionTest, CallsThatWereSentTogetherHappenInOrder) {
  for (int i = 0; i < 200; ++i) {
    Send(Json{{"jsonrpc", "2.0"},
              {"id", 1000 + i},
              {"method", "tools/call"},
              {"params",
               {{"name", "write_file"},
                {"arguments", {{"path", "/f"}, {"content", std::to_string(i)}}}}}});
  }
  EXPECT_EQ(Text("read_text_file", {{"path", "/f"}}), "199");
}

TEST_F(SessionTest, WhatWasAskedBeforeTheEndOfTheInputIsAnswered) {
  Send(Json{
      {"jsonrpc", "2.0"},
      {"id", "last"},
      {"method", "tools/call"},
      {"params", {{"name", "search_files"}, {"arguments", {{"path", "/"}, {"pattern", "*"}}}}}});
  Close();
  EXPECT_EQ(Receive()["id"], "last");
}

TEST_F(SessionTest, ACancelledCallStopsAndIsNotAnswered) {
  host_->hangs = true;
  Send(Json{
      {"jsonrpc", "2.0"}, {"id", 5}, {"method", "tools/call"}, {"params", {{"name", "diff"}}}});
  host_->hanging.WaitForNotification();
  EXPECT_EQ(Text("list_directory", {{"path", "/"}}), "");  // others go on meanwhile
  host_->hangs = false;
  SendLine(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  Close();
  EXPECT_TRUE(IsSilent());
}

TEST_F(SessionTest, ProgressIsToldToWhoAskedForIt) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(files().WriteText("/f" + std::to_string(i), "x").ok());
  const Json answer = Ask("tools/call", {{"name", "search_files"},
                                         {"arguments", {{"path", "/"}, {"pattern", "*"}}},
                                         {"_meta", {{"progressToken", "p"}}}});
  EXPECT_TRUE(answer.contains("result"));
  ASSERT_FALSE(notifications_.empty());
  const Json& told = notifications_.back();
  EXPECT_EQ(told["method"], "notifications/progress");
  EXPECT_EQ(told["params"]["progressToken"], "p");
  EXPECT_EQ(told["params"]["progress"], 5);
}

TEST_F(SessionTest, EachCallIsRecordedWithLongTextsCut) {
  Text("write_file", {{"path", "/f"}, {"content", std::string(100'000, 'x')}});
  Failure("read_text_file", {{"path", "/none"}});
  const auto calls = host_->Calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].tool, "write_file");
  EXPECT_EQ(calls[0].branch, "main");
  EXPECT_EQ(calls[0].exec, 7u);
  EXPECT_EQ(Json::parse(calls[0].parameters)["path"], "/f");
  EXPECT_LT(calls[0].parameters.size(), 5000u);
  EXPECT_EQ(Json::parse(calls[0].result)["content"], "Successfully wrote to /f");
  EXPECT_EQ(calls[0].error, "");
  EXPECT_NE(calls[1].error.find("ENOENT"), std::string::npos);
  EXPECT_EQ(calls[1].result, "");
}

TEST_F(SessionTest, ResourcesAreTheFilesPageByPage) {
  constexpr int kFiles = 1203;
  ASSERT_TRUE(files().CreateDirectories("/d/.git").ok());
  ASSERT_TRUE(files().WriteText("/d/.git/config", "x").ok());
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_TRUE(files().WriteText((i % 2 ? "/d/f" : "/f") + std::to_string(i), "x").ok());
  }
  std::set<std::string> seen;
  Json params = Json::object();
  for (int page = 0; page < 10; ++page) {
    const Json result = Ask("resources/list", params)["result"];
    for (const Json& each : result["resources"]) seen.insert(each["uri"].get<std::string>());
    if (!result.contains("nextCursor")) break;
    params["cursor"] = result["nextCursor"];
  }
  EXPECT_EQ(seen.size(), size_t{kFiles});
  EXPECT_TRUE(seen.contains("file:///home/me/project/d/f1"));
}

TEST_F(SessionTest, AResourceIsTextOrBytes) {
  ASSERT_TRUE(files().WriteText("/t.txt", "text\n").ok());
  ASSERT_TRUE(files().WriteBytes("/b.png", "\xff").ok());
  Json text = Ask("resources/read", {{"uri", "file:///home/me/project/t.txt"}});
  EXPECT_EQ(text["result"]["contents"][0]["text"], "text\n");
  Json bytes = Ask("resources/read", {{"uri", "file:///home/me/project/b.png"}});
  EXPECT_EQ(bytes["result"]["contents"][0]["blob"], "/w==");
  EXPECT_EQ(bytes["result"]["contents"][0]["mimeType"], "image/png");
  for (const char* uri : {"file:///home/me/project/none", "file:///etc/passwd", "x"}) {
    EXPECT_EQ(Ask("resources/read", {{"uri", uri}})["error"]["code"], kResourceNotFound) << uri;
  }
  EXPECT_EQ(Ask("resources/templates/list")["result"]["resourceTemplates"][0]["uriTemplate"],
            "file:///home/me/project/{+path}");
}

}  // namespace
}  // namespace agentfs::mcp
