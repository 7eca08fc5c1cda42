// SPDX-License-Identifier: Apache-2.0
//
// JSON-RPC 2.0 as the Model Context Protocol uses it: reading one message, and the text of answers.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace agentfs::mcp {

enum ErrorCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kResourceNotFound = -32002,
};

// One message of a client.
struct Incoming {
  enum class Kind : uint8_t {
    kRequest,
    kNotification,
    kResponse,  // to something that we have not asked
    kInvalid,   // no message; `problem` says why
  };
  Kind kind = Kind::kInvalid;
  std::string id = "null";  // as JSON text
  std::string method;
  std::shared_ptr<const nlohmann::ordered_json> params;  // an object, perhaps empty
  int code = 0;
  std::string problem;
};

struct IncomingLine {
  std::vector<Incoming> messages;
  bool batch = false;  // they came as an array, and are answered with one
};

// Understands a line, whatever it is; never throws.
IncomingLine ParseLine(std::string_view line);

// Names are bytes and JSON is UTF-8: what is none becomes U+FFFD. Never throws but for memory.
std::string ToText(const nlohmann::ordered_json& document);

// The same for the record: texts of more than 4 KiB and lists of more than 100 are cut.
std::string ToShortText(const nlohmann::ordered_json& document);

// `id` is JSON text, and so is `result`.
std::string ReplyText(std::string_view id, std::string_view result);
std::string ErrorText(std::string_view id, int code, std::string_view message);
std::string ErrorText(std::string_view id, int code, std::string_view message,
                      const nlohmann::ordered_json& data);
std::string NotificationText(std::string_view method, const nlohmann::ordered_json& params);

// The revision to speak with a client who asks for one.
std::string_view ChooseRevision(std::string_view asked);

}  // namespace agentfs::mcp
