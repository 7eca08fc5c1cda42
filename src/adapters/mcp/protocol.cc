// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/protocol.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

// Newest first. What differs between them is what a client may ask for; all of that is answered.
constexpr std::array<std::string_view, 5> kRevisions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                        "2024-11-05", "2024-10-07"};
constexpr size_t kMaxBatch = 1000;

Incoming Wrong(int code, std::string problem) {
  Incoming message;
  message.code = code;
  message.problem = std::move(problem);
  return message;
}

constexpr size_t kMaxKeptText = 4096;
constexpr size_t kMaxKeptItems = 100;
constexpr int kMaxKeptDepth = 8;

std::string ShortenedText(const std::string& text) {
  if (text.size() <= kMaxKeptText) return text;
  size_t end = kMaxKeptText;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // between two characters
  return text.substr(0, end) + "... (" + std::to_string(text.size()) + " bytes)";
}

Json Shortened(const Json& value, int depth) {
  if (value.is_string()) return ShortenedText(value.get_ref<const std::string&>());
  if (!value.is_structured()) return value;
  if (depth >= kMaxKeptDepth) return "...";
  Json out = value.is_array() ? Json::array() : Json::object();
  size_t items = 0;
  for (const auto& [name, each] : value.items()) {
    if (++items > kMaxKeptItems) break;
    if (value.is_array()) {
      out.push_back(Shortened(each, depth + 1));
    } else {
      out[ShortenedText(name)] = Shortened(each, depth + 1);
    }
  }
  return out;
}

bool IsId(const Json& id) { return id.is_string() || id.is_number(); }

Incoming ReadRequest(Json& object) {
  Incoming message;
  const auto id = object.find("id");
  if (id != object.end() && !IsId(*id)) {
    return Wrong(kInvalidRequest, "an id is a string or a number");
  }
  if (id != object.end()) message.id = ToText(*id);
  message.kind = id == object.end() ? Incoming::Kind::kNotification : Incoming::Kind::kRequest;
  message.method = object["method"].get<std::string>();
  const auto params = object.find("params");
  if (params != object.end() && !params->is_object()) {
    message.kind = Incoming::Kind::kInvalid;
    message.code = kInvalidParams;
    message.problem = "params are an object";
    return message;
  }
  message.params =
      std::make_shared<const Json>(params == object.end() ? Json::object() : std::move(*params));
  return message;
}

Incoming ReadMessage(Json& object) {
  if (!object.is_object()) return Wrong(kInvalidRequest, "a message is an object");
  const auto version = object.find("jsonrpc");
  if (version == object.end() || *version != "2.0") {
    return Wrong(kInvalidRequest, "a message has \"jsonrpc\": \"2.0\"");
  }
  const auto method = object.find("method");
  if (method != object.end() && method->is_string()) return ReadRequest(object);
  if (method == object.end() && (object.contains("result") || object.contains("error"))) {
    Incoming message;
    message.kind = Incoming::Kind::kResponse;
    return message;
  }
  return Wrong(kInvalidRequest, "a message has a method");
}

}  // namespace

IncomingLine ParseLine(std::string_view line) {
  IncomingLine parsed;
  if (IsJsonTooDeep(line)) {
    parsed.messages.push_back(Wrong(kParseError, "a message is nested too deeply"));
    return parsed;
  }
  Json document = Json::parse(line, nullptr, false);
  if (document.is_discarded()) {
    parsed.messages.push_back(Wrong(kParseError, "not a JSON text in UTF-8"));
    return parsed;
  }
  if (!document.is_array()) {
    parsed.messages.push_back(ReadMessage(document));
    return parsed;
  }
  if (document.empty() || document.size() > kMaxBatch) {
    parsed.messages.push_back(Wrong(kInvalidRequest, "a batch has 1 to 1000 messages"));
    return parsed;
  }
  parsed.batch = true;
  for (Json& each : document) parsed.messages.push_back(ReadMessage(each));
  return parsed;
}

std::string ToText(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ToShortText(const Json& document) { return ToText(Shortened(document, 0)); }

std::string ReplyText(std::string_view id, std::string_view result) {
  std::string text;
  text.reserve(id.size() + result.size() + 40);
  text.append(R"({"jsonrpc":"2.0","id":)").append(id).append(R"(,"result":)").append(result);
  return text += '}';
}

std::string ErrorText(std::string_view id, int code, std::string_view message) {
  return ErrorText(id, code, message, Json());
}

std::string ErrorText(std::string_view id, int code, std::string_view message, const Json& data) {
  Json error = {{"code", code}, {"message", message}};
  if (!data.is_null()) error["data"] = data;
  std::string text;
  text.append(R"({"jsonrpc":"2.0","id":)").append(id).append(R"(,"error":)").append(ToText(error));
  return text += '}';
}

std::string NotificationText(std::string_view method, const Json& params) {
  return ToText({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

std::string_view ChooseRevision(std::string_view asked) {
  const auto known = std::find(kRevisions.begin(), kRevisions.end(), asked);
  return known == kRevisions.end() ? kRevisions.front() : *known;
}

}  // namespace agentfs::mcp
