// SPDX-License-Identifier: Apache-2.0
#include "agentfs/agent_state.h"

#include <gtest/gtest.h>

#include <thread>

#include "core_rig.h"

namespace agentfs {
namespace {

class AgentStateTest : public CoreTest {
 protected:
  void SetUp() override { OpenOverBase(); }
  std::vector<std::string> Keys(const std::string& prefix) {
    std::vector<std::string> keys;
    Get(ListValues(volume(), prefix, [&](const KvEntry& entry) {
      keys.push_back(entry.key);
      return Visit::kContinue;
    }));
    return keys;
  }
};

TEST_F(AgentStateTest, AValueStaysUntilItIsDeleted) {
  Get(SetValue(volume(), "key", " {\"a\": 1} "));
  const auto first = Get(GetValue(volume(), "key"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->value, "{\"a\": 1}");
  Get(SetValue(volume(), "key", "null"));
  const auto second = Get(GetValue(volume(), "key"));
  EXPECT_EQ(second->created_ns, first->created_ns);
  EXPECT_GE(second->updated_ns, first->updated_ns);
  EXPECT_TRUE(Get(DeleteValue(volume(), "key")));
  EXPECT_FALSE(Get(DeleteValue(volume(), "key")));
  EXPECT_FALSE(Get(GetValue(volume(), "key")));
}

TEST_F(AgentStateTest, WhatCannotBeKeptIsRefused) {
  for (const char* text : {"", "{", "text", "1 2", "{'a': 1}", "NaN"}) {
    EXPECT_EQ(SetValue(volume(), "key", text).code(), EINVAL) << text;
  }
  EXPECT_EQ(SetValue(volume(), "", "1").code(), EINVAL);
  EXPECT_EQ(SetValue(volume(), std::string_view("a\0b", 3), "1").code(), EINVAL);
  EXPECT_EQ(SetValue(volume(), std::string(kMaxKvKey + 1, 'k'), "1").code(), ENAMETOOLONG);
  EXPECT_EQ(SetValue(volume(), "key", std::string(kMaxJsonBytes + 1, '1')).code(), EFBIG);
  EXPECT_EQ(RecordToolCall(volume(), {.name = "x", .started_ns = 2, .completed_ns = 1}).code(),
            EINVAL);
  EXPECT_EQ(RecordToolCall(volume(), {.name = "x", .result = "{"}).code(), EINVAL);
  EXPECT_TRUE(Keys("").empty());
}

TEST_F(AgentStateTest, APrefixIsBytesAndNothingElse) {
  for (const char* key : {"a", "a/1", "a/2", "a%", "a\xff", "b", "'; DROP TABLE kv_rows; --"}) {
    Get(SetValue(volume(), key, "1"));
  }
  EXPECT_EQ(Keys("a/"), (std::vector<std::string>{"a/1", "a/2"}));
  EXPECT_EQ(Keys("a%"), std::vector<std::string>{"a%"});
  EXPECT_EQ(Keys("a").size(), 5u);
  EXPECT_EQ(Keys("").size(), 7u);
  EXPECT_TRUE(Keys("c").empty());
}

TEST_F(AgentStateTest, CallsOfManyThreadsAllHaveIdsOfTheirOwn) {
  constexpr int kThreads = 4, kCalls = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int call = 0; call < kCalls; ++call) {
        EXPECT_TRUE(RecordToolCall(volume(), {.name = "tool", .completed_ns = 5}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto tools = Get(ToolCallStatistics(volume()));
  ASSERT_EQ(tools.size(), 1u);
  EXPECT_EQ(tools[0].calls, uint64_t{kThreads * kCalls});
  EXPECT_EQ(tools[0].total_ns, 5 * kThreads * kCalls);
  uint64_t last = UINT64_MAX;
  Get(ListToolCalls(volume(), [&](const ToolCall& call) {
    EXPECT_LT(call.id, last);
    last = call.id;
    return Visit::kContinue;
  }));
}

}  // namespace
}  // namespace agentfs
