// SPDX-License-Identifier: Apache-2.0
//
// kv and tool.
#include <gmock/gmock.h>

#include "mounted.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AgentStateCliTest : public WorkspaceCliTest {};

TEST_F(AgentStateCliTest, WhatCannotBeJsonIsRefused) {
  const auto deep = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  Do({"kv", "set", "deep"}, deep(500));
  EXPECT_EQ(Do({"kv", "list", "--json"}).Json().size(), 1u);
  ExpectFailure({"kv", "set", "deeper"}, 2, "EINVAL", deep(501));
  ExpectFailure({"kv", "set", "deeper"}, 2, "EINVAL", deep(200'000));
  ExpectFailure({"tool", "record", "x", "--parameters", deep(501)}, 2, "EINVAL");
  ExpectFailure({"kv", "set", "--string", "bytes", "\xff\xfe"}, 2, "EINVAL");
  ExpectFailure({"kv", "get", "bytes"}, 4, "ENOENT");
}

TEST_F(AgentStateCliTest, AValueIsKeptUnderItsKey) {
  Do({"kv", "set", "plan", R"( {"step": 2, "big": 12345678901234567890} )"});
  EXPECT_EQ(Do({"kv", "get", "plan"}).out, "{\"step\": 2, \"big\": 12345678901234567890}\n");
  const auto first = Do({"kv", "get", "plan", "--json"}).Json();
  EXPECT_EQ(first["value"]["step"], 2);
  Do({"kv", "set", "plan"}, "[1,\n 2]\n");
  const auto second = Do({"kv", "get", "plan", "--json"}).Json();
  EXPECT_EQ(second["value"], nlohmann::json::parse("[1, 2]"));
  EXPECT_EQ(second["created"], first["created"]);
  EXPECT_GT(second["updated"], first["updated"]);
  Do({"kv", "delete", "plan"});
  EXPECT_EQ(Try({"kv", "get", "plan"}).status, 4);
  EXPECT_EQ(Try({"kv", "delete", "plan"}).status, 4);
}

TEST_F(AgentStateCliTest, WhatIsNoJsonIsRefusedWithTheRemedy) {
  const Outcome outcome = Try({"kv", "set", "name", "Ada Lovelace"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--string"));
  Do({"kv", "set", "--string", "name", "Ada \"Lovelace\"\n"});
  EXPECT_EQ(Do({"kv", "get", "name"}).out, "\"Ada \\\"Lovelace\\\"\\n\"\n");
  EXPECT_EQ(Do({"kv", "get", "--string", "name"}).out, "Ada \"Lovelace\"\n\n");
  EXPECT_EQ(Try({"kv", "set", "", "1"}).status, 2);
  EXPECT_EQ(Try({"kv", "set", std::string(481, 'k'), "1"}).status, 2);
  EXPECT_EQ(Try({"kv", "set", "x", ""}).status, 2);
}

TEST_F(AgentStateCliTest, KeysAreListedByPrefixWhateverTheyAre) {
  for (const std::string key :
       {"a/1", "a/2", "b", "a'; DELETE FROM kv_rows; --", "a\n\x01\"", "a%", "[1,2]"}) {
    Do({"kv", "set", key, "1"});
  }
  const auto list = Do({"kv", "list", "a/", "--json"}).Json();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1]["key"], "a/2");
  EXPECT_EQ(Do({"kv", "list", "--json"}).Json().size(), 7u);
  EXPECT_EQ(Do({"kv", "list", "a%", "--json"}).Json().size(), 1u);
  EXPECT_THAT(Do({"kv", "list"}).out, HasSubstr("a\\n\\x01\""));
  EXPECT_EQ(Do({"kv", "get", "a\n\x01\""}).out, "1\n");
}

TEST_F(AgentStateCliTest, ToolCallsAreLogged) {
  EXPECT_EQ(Do({"tool", "record", "search", "--parameters", R"({"q": "x"})", "--result", "[]",
                "--started", "1000", "--completed", "1000.25"})
                .out,
            "1\n");
  EXPECT_EQ(Do({"tool", "record", "fetch", "--error", "timed out"}).out, "2\n");
  EXPECT_EQ(Do({"tool", "record", "search", "--started", "2000", "--completed", "2000.75"}).out,
            "3\n");
  const auto list = Do({"tool", "list", "--json"}).Json();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["id"], 3);
  EXPECT_EQ(list[1]["error"], "timed out");
  EXPECT_EQ(list[2]["parameters"]["q"], "x");
  EXPECT_EQ(list[2]["duration_ms"], 250.0);
  EXPECT_EQ(list[2]["started"], "1970-01-01T00:16:40.000000000Z");
  EXPECT_EQ(Do({"tool", "list", "search", "--limit", "1", "--json"}).Json().size(), 1u);
  const auto stats = Do({"tool", "stats", "--json"}).Json();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0]["failed"], 1);
  EXPECT_EQ(stats[1]["calls"], 2);
  EXPECT_EQ(stats[1]["average_ms"], 500.0);
  EXPECT_THAT(Do({"tool", "list"}).out, HasSubstr("failed: timed out"));
}

TEST_F(AgentStateCliTest, ACallThatCannotBeIsRefused) {
  EXPECT_EQ(Try({"tool", "record", "x", "--parameters", "{"}).status, 2);
  EXPECT_EQ(Try({"tool", "record", "x", "--started", "2000", "--completed", "1000"}).status, 2);
  EXPECT_EQ(Try({"tool", "record", "x", "--started", "yesterday"}).status, 2);
  EXPECT_EQ(Try({"tool", "record", ""}).status, 2);
  EXPECT_EQ(Try({"tool", "record", "x", "--result", "1", "--error", "e"}).status, 2);
  EXPECT_EQ(Do({"tool", "list", "--json"}).Json().size(), 0u);
}

TEST_F(MountCliTest, ValuesAndCallsGoThroughTheServer) {
  Mount();
  Do({"kv", "set", "key", "1"});
  EXPECT_EQ(Do({"tool", "record", "search"}).out, "1\n");
  EXPECT_EQ(Do({"kv", "get", "key"}).out, "1\n");
  Unmount();
  EXPECT_EQ(Do({"kv", "get", "key"}).out, "1\n");
  EXPECT_EQ(Do({"tool", "record", "search"}).out, "2\n");
}

}  // namespace
}  // namespace agentfs
