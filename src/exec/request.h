// SPDX-License-Identifier: Apache-2.0
//
// What a program asks for when it wants a command to be run (docs/design/exec.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "workspace/sandbox_rules.h"

namespace agentfs {

// Whether there is a way back to before the command.
enum class CheckpointMode : uint8_t {
  kAuto,    // if the policy wants it, or if the command has changed something after all
  kAlways,  // at all events
  kNever,
};
std::string_view CheckpointModeName(CheckpointMode mode);
std::optional<CheckpointMode> CheckpointModeNamed(std::string_view name);

struct ExecutionRequest {
  std::string workspace;        // for who reads the envelope; the host decides which it is
  std::string branch = "main";  // made from main's head if it is missing
  std::string cwd = "/";        // a directory of the workspace; "/" is its root
  // One of them: words, or text for /bin/sh.
  std::vector<std::string> argv;
  std::optional<std::string> shell;
  bool read_only = false;  // nothing can be written but what is private to the command
  CheckpointMode checkpoint = CheckpointMode::kAuto;
  int64_t timeout_ms = 0;                       // 0: none
  std::vector<std::string> environment;         // "NAME=value", besides the caller's own
  std::optional<std::string> input;             // the standard input; none: empty
  uint64_t output_limit = uint64_t{256} << 10;  // bytes of each stream in the envelope
  std::string label;                            // the caller's own word for it
  SandboxRules rules;                           // absolute paths; besides the workspace's own
};

inline constexpr int64_t kMaxTimeoutMs = int64_t{7} * 24 * 3600 * 1000;
inline constexpr uint64_t kMaxOutputLimit = uint64_t{64} << 20;
inline constexpr size_t kMaxInput = size_t{64} << 20;
// Of a request that waits for approval: it is kept in the store.
inline constexpr size_t kMaxKeptInput = size_t{1} << 20;
inline constexpr size_t kMaxLabel = 256;

// Why a command did not run. `code` is one of the codes that docs/design/exec.md lists.
struct ExecutionFailure {
  std::string code;
  std::string message, remedy;
  int error = 0;  // the errno behind it; 0: none
};

// The first field that makes no sense, each with a code of its own ("invalid_branch"); none: they
// all do. Touches nothing.
std::optional<ExecutionFailure> CheckRequest(const ExecutionRequest& request);

// For people, as they would type it.
std::string CommandText(const ExecutionRequest& request);

// As JSON, and back: exactly the same request. EINVAL, naming the field.
nlohmann::ordered_json RequestJson(const ExecutionRequest& request);
Result<ExecutionRequest> RequestOfJson(const nlohmann::ordered_json& json);

}  // namespace agentfs
