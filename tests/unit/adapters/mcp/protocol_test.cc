// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_depth.h"

namespace agentfs::mcp {
namespace {

using Kind = Incoming::Kind;

Incoming One(const std::string& line) {
  IncomingLine parsed = ParseLine(line);
  EXPECT_FALSE(parsed.batch);
  EXPECT_EQ(parsed.messages.size(), 1u);
  return std::move(parsed.messages.at(0));
}

TEST(ProtocolTest, RequestsNotificationsAndResponsesAreTold) {
  const Incoming request = One(R"({"jsonrpc":"2.0","id":"a","method":"ping"})");
  EXPECT_EQ(request.kind, Kind::kRequest);
  EXPECT_EQ(request.id, "\"a\"");
  EXPECT_EQ(request.method, "ping");
  EXPECT_TRUE(request.params->is_object());
  EXPECT_EQ(One(R"({"jsonrpc":"2.0","method":"x"})").kind, Kind::kNotification);
  EXPECT_EQ(One(R"({"jsonrpc":"2.0","id":1,"result":{}})").kind, Kind::kResponse);
}

TEST(ProtocolTest, WhatIsNoMessageSaysWhy) {
  for (const char* line : {"", "{", "\"\xff\"", "{\"a\":\"\\ud800\"}", "nul", "[1,"}) {
    EXPECT_EQ(One(line).code, kParseError) << line;
  }
  for (const char* line :
       {"1", "null", "{}", "[]", R"({"jsonrpc":"1.0","id":1,"method":"x"})",
        R"({"jsonrpc":"2.0","id":null,"method":"x"})", R"({"jsonrpc":"2.0","id":{},"method":"x"})",
        R"({"jsonrpc":"2.0","id":1,"method":7})"}) {
    const Incoming message = One(line);
    EXPECT_EQ(message.kind, Kind::kInvalid) << line;
    EXPECT_EQ(message.code, kInvalidRequest) << line;
  }
  const Incoming bad = One(R"({"jsonrpc":"2.0","id":1,"method":"x","params":[1]})");
  EXPECT_EQ(bad.code, kInvalidParams);
  EXPECT_EQ(bad.id, "1");
}

TEST(ProtocolTest, ABatchIsEachOfItsMessages) {
  const IncomingLine line = ParseLine(R"([{"jsonrpc":"2.0","id":1,"method":"a"},7])");
  EXPECT_TRUE(line.batch);
  ASSERT_EQ(line.messages.size(), 2u);
  EXPECT_EQ(line.messages[0].method, "a");
  EXPECT_EQ(line.messages[1].kind, Kind::kInvalid);
}

TEST(ProtocolTest, NestingThatIsTooDeepIsNotParsed) {
  const auto nested = [](size_t depth) {
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    return One(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"a":)" + deep + "}}");
  };
  EXPECT_EQ(nested(kMaxJsonDepth - 2).kind, Kind::kRequest);
  EXPECT_EQ(nested(kMaxJsonDepth - 1).code, kParseError);
  EXPECT_EQ(nested(200'000).code, kParseError);
}

TEST(ProtocolTest, TheRevisionIsTheClientsIfItIsKnown) {
  EXPECT_EQ(ChooseRevision("2024-11-05"), "2024-11-05");
  EXPECT_EQ(ChooseRevision("2025-06-18"), "2025-06-18");
  EXPECT_EQ(ChooseRevision("1999-01-01"), "2025-11-25");
  EXPECT_EQ(ChooseRevision(""), "2025-11-25");
}

TEST(ProtocolTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(ToText("a\xff"), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace agentfs::mcp
