// SPDX-License-Identifier: Apache-2.0
#include "exec/request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exec/envelope.h"

namespace agentfs {
namespace {

ExecutionRequest Good() {
  ExecutionRequest request;
  request.argv = {"true"};
  return request;
}

std::string CodeOf(const ExecutionRequest& request) {
  const auto wrong = CheckRequest(request);
  return wrong ? wrong->code : "";
}

TEST(ExecutionRequestTest, EachBadFieldHasItsOwnCode) {
  using Spoil = void (*)(ExecutionRequest&);
  const std::pair<const char*, Spoil> cases[] = {
      {"", [](ExecutionRequest&) {}},
      {"invalid_branch", [](ExecutionRequest& bad) { bad.branch = "a b"; }},
      {"invalid_branch", [](ExecutionRequest& bad) { bad.branch = ""; }},
      {"invalid_branch", [](ExecutionRequest& bad) { bad.branch = "base"; }},
      {"invalid_cwd", [](ExecutionRequest& bad) { bad.cwd = "src"; }},
      {"invalid_cwd", [](ExecutionRequest& bad) { bad.cwd = std::string("/a\0b", 4); }},
      {"invalid_command", [](ExecutionRequest& bad) { bad.argv.clear(); }},
      {"invalid_command", [](ExecutionRequest& bad) { bad.shell = "both"; }},
      {"invalid_command", [](ExecutionRequest& bad) { bad.argv = {""}; }},
      {"invalid_command", [](ExecutionRequest& bad) { bad.argv.push_back({'\0'}); }},
      {"invalid_timeout", [](ExecutionRequest& bad) { bad.timeout_ms = -1; }},
      {"invalid_timeout", [](ExecutionRequest& bad) { bad.timeout_ms = kMaxTimeoutMs + 1; }},
      {"invalid_output_limit",
       [](ExecutionRequest& bad) { bad.output_limit = kMaxOutputLimit + 1; }},
      {"invalid_stdin", [](ExecutionRequest& bad) { bad.input = std::string(kMaxInput + 1, 'x'); }},
      {"invalid_environment", [](ExecutionRequest& bad) { bad.environment = {"NAME"}; }},
      {"invalid_environment", [](ExecutionRequest& bad) { bad.environment = {"AGENTFS=0"}; }},
      {"invalid_label", [](ExecutionRequest& bad) { bad.label = std::string(kMaxLabel + 1, 'x'); }},
      {"invalid_path", [](ExecutionRequest& bad) { bad.rules.cow = {"relative"}; }},
  };
  for (const auto& [code, spoil] : cases) {
    ExecutionRequest request = Good();
    spoil(request);
    EXPECT_EQ(CodeOf(request), code);
  }
}

TEST(ExecutionRequestTest, IsTheSameAfterJson) {
  ExecutionRequest request;
  request.workspace = "/w\xff";
  request.branch = "b/1";
  request.cwd = "/src";
  request.argv = {"printf", "\xff", "'"};
  request.read_only = true;
  request.checkpoint = CheckpointMode::kNever;
  request.timeout_ms = 1500;
  request.environment = {"A=\xfe", "B="};
  request.input = std::string("\0\xff", 2);
  request.output_limit = 0;
  request.label = "step 1";
  request.rules = {{"/c"}, {"/a"}, {"/h"}, false};
  const auto text = RequestJson(request).dump();
  const auto again = RequestOfJson(nlohmann::ordered_json::parse(text));
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(RequestJson(*again).dump(), text);
  EXPECT_EQ(again->argv, request.argv);
  EXPECT_EQ(again->input, request.input);
  EXPECT_EQ(again->environment, request.environment);
  EXPECT_EQ(again->rules, request.rules);
}

TEST(ExecutionRequestTest, WhatIsNoneIsRefused) {
  using Json = nlohmann::ordered_json;
  for (const Json& json : {Json(), Json(3), Json::object(), Json{{"argv", {"true"}}}}) {
    EXPECT_EQ(RequestOfJson(json).code(), EINVAL) << json.dump();
  }
}

TEST(ExecutionEnvelopeTest, IsNoSuccessUnlessTheCommandRanToItsEnd) {
  ExecutionEnvelope envelope;
  EXPECT_FALSE(envelope.success());
  envelope.result.emplace();
  EXPECT_FALSE(envelope.success());
  envelope.result->state = ExecutionState::kCompleted;
  EXPECT_FALSE(envelope.success());  // by a signal
  envelope.result->exit_code = 0;
  EXPECT_TRUE(envelope.success());
  envelope.result->state = ExecutionState::kSandboxFailed;
  EXPECT_FALSE(envelope.success());
  envelope.result->state = ExecutionState::kCompleted;
  envelope.error = ExecutionFailure{"workspace_failed", "", "", EIO};
  EXPECT_FALSE(envelope.success());
}

TEST(ExecutionEnvelopeTest, IsValidJsonWhateverTheCommandHasWritten) {
  ExecutionEnvelope envelope;
  envelope.request = Good();
  envelope.result.emplace();
  envelope.result->out.bytes = std::string("\xc3(\0\xff", 4);
  envelope.result->changed_files.push_back({"/\xff", ChangedFile::Kind::kAdded, "", {}, 3});
  const auto json = nlohmann::json::parse(EnvelopeText(envelope));
  EXPECT_EQ(json["result"]["stdout_base64"], "wygA/w==");
  EXPECT_EQ(json["result"]["changed_files"][0]["path_base64"], "L/8=");
  EXPECT_FALSE(json["result"].contains("stderr_base64"));
}

}  // namespace
}  // namespace agentfs
