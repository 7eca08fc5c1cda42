// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a line of a client of the Model Context Protocol: each message of it is understood
// or has a code and a reason, and what is answered is JSON on one line.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "adapters/mcp/protocol.h"
#include "adapters/mcp/tool.h"
#include "require.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Incoming::Kind;

void RequireOneLine(const std::string& text) {
  REQUIRE(text.find('\n') == std::string::npos);
  REQUIRE(!Json::parse(text, nullptr, false).is_discarded());
}

void CheckMessage(const Incoming& message) {
  RequireOneLine(ErrorText(message.id, -1, message.problem + message.method));
  RequireOneLine(ReplyText(message.id, "{}"));
  if (message.kind == Kind::kInvalid) {
    REQUIRE(message.code < 0 && !message.problem.empty());
    return;
  }
  if (message.kind == Kind::kResponse) return;
  REQUIRE(message.params != nullptr && message.params->is_object());
  REQUIRE((message.kind == Kind::kNotification) == (message.id == "null"));
  // Whatever the arguments are, each tool takes them or says what is wrong.
  for (const Json& tool : ToolDefinitions()["tools"]) {
    const Tool* known = FindTool(tool["name"].get_ref<const std::string&>());
    REQUIRE(known != nullptr);
    const auto checked = CheckArguments(*known, *message.params);
    REQUIRE(checked.ok() || !checked.error().message().empty());
  }
}

}  // namespace
}  // namespace agentfs::mcp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto line = agentfs::mcp::ParseLine({reinterpret_cast<const char*>(data), size});
  REQUIRE(!line.messages.empty());
  REQUIRE(line.batch || line.messages.size() == 1);
  for (const auto& message : line.messages) agentfs::mcp::CheckMessage(message);
  return 0;
}
