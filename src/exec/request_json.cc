// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "exec/json_bytes.h"
#include "exec/request.h"

namespace agentfs {
namespace {

using RequestJsonType = nlohmann::ordered_json;

// A member of the wrong kind has the default.
template <typename T>
T ValueOr(const RequestJsonType& json, const char* name, T fallback) {
  const auto it = json.find(name);
  if (it == json.end()) return fallback;
  if constexpr (std::is_same_v<T, bool>) {
    return it->is_boolean() ? it->template get<bool>() : fallback;
  } else {
    return it->is_number_integer() ? it->template get<T>() : fallback;
  }
}

bool IsThere(const RequestJsonType& json, const std::string& name) {
  const auto it = json.find(name);
  return it != json.end() && !it->is_null();
}

}  // namespace

RequestJsonType RequestJson(const ExecutionRequest& request) {
  RequestJsonType json;
  PutBytes(json, "workspace", request.workspace);
  PutBytes(json, "branch", request.branch);
  PutBytes(json, "cwd", request.cwd);
  if (request.shell) {
    PutBytes(json, "shell", *request.shell);
  } else {
    PutBytes(json, "argv", request.argv);
  }
  json["read_only"] = request.read_only;
  json["checkpoint"] = CheckpointModeName(request.checkpoint);
  json["timeout_ms"] =
      request.timeout_ms == 0 ? RequestJsonType() : RequestJsonType(request.timeout_ms);
  PutBytes(json, "environment", request.environment);
  if (request.input) PutBytes(json, "stdin", *request.input);
  json["output_limit"] = request.output_limit;
  PutBytes(json, "label", request.label);
  json["network"] = request.rules.network;
  PutBytes(json, "cow", request.rules.cow);
  PutBytes(json, "allow", request.rules.allow);
  PutBytes(json, "hide", request.rules.hide);
  return json;
}

Result<ExecutionRequest> RequestOfJson(const RequestJsonType& json) {
  if (!json.is_object()) return Error(EINVAL, "the request is no JSON object");
  ExecutionRequest request;
  request.workspace = GetBytes(json, "workspace");
  request.branch = GetBytes(json, "branch");
  request.cwd = GetBytes(json, "cwd");
  if (IsThere(json, "shell")) request.shell = GetBytes(json, "shell");
  request.argv = GetByteList(json, "argv");
  request.read_only = ValueOr(json, "read_only", false);
  const auto mode = CheckpointModeNamed(GetBytes(json, "checkpoint"));
  if (!mode) return Error(EINVAL, "checkpoint: there are auto, always and never");
  request.checkpoint = *mode;
  request.timeout_ms = ValueOr<int64_t>(json, "timeout_ms", 0);
  request.environment = GetByteList(json, "environment");
  if (IsThere(json, "stdin")) request.input = GetBytes(json, "stdin");
  request.output_limit = ValueOr<uint64_t>(json, "output_limit", request.output_limit);
  request.label = GetBytes(json, "label");
  request.rules.network = ValueOr(json, "network", true);
  request.rules.cow = GetByteList(json, "cow");
  request.rules.allow = GetByteList(json, "allow");
  request.rules.hide = GetByteList(json, "hide");
  if (const auto wrong = CheckRequest(request)) return Error(EINVAL, wrong->message);
  return request;
}

}  // namespace agentfs
