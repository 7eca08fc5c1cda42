// SPDX-License-Identifier: Apache-2.0
//
// A tool: what clients can call, and what it is given.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>

#include "adapters/mcp/client_paths.h"
#include "adapters/mcp/host.h"
#include "adapters/mcp/progress.h"
#include "agentfs/files.h"
#include "agentfs/result.h"

namespace agentfs::mcp {

// The branch that a session works on.
struct BranchView {
  std::string name;
  Files files;
};
Result<std::shared_ptr<const BranchView>> OpenBranchView(Host& host, const std::string& branch);

// A call under way. What it refers to outlives it.
struct ToolCall {
  Host& host;
  const ClientPaths& paths;
  const BranchView& branch;
  const nlohmann::ordered_json& arguments;  // as the tool's schema says
  std::stop_token stop;
  Progress& progress;
  // Set by the tool that changes the session's branch.
  std::shared_ptr<const BranchView> switched_to = nullptr;

  // Set by the tool that is an exec in its own right; 0: the call itself is one.
  uint64_t exec = 0;

  const Files& files() const { return branch.files; }
  // The argument as a path of the view.
  Result<std::string> PathArgument(std::string_view name) const;
};

// The value is the result of tools/call; an error becomes one with `isError`.
using ToolFunction = Result<nlohmann::ordered_json> (*)(ToolCall& call);

struct Tool {
  enum class Effect : uint8_t {
    kReads,
    kChanges,
    kEdits,  // files of the branch, which `undo` takes back
  };
  enum class Duration : uint8_t { kShort, kLong };

  std::string_view name;
  ToolFunction run;
  Effect effect;
  Duration duration;
  bool is_exec = false;  // what it does is recorded as an exec by itself
};

const Tool* FindTool(std::string_view name);
// The result of tools/list.
const nlohmann::ordered_json& ToolDefinitions();
// EINVAL, saying which argument is wrong and how.
Result<void> CheckArguments(const Tool& tool, const nlohmann::ordered_json& arguments);

// ---- for writing tools
// Text, as content and as structured content.
nlohmann::ordered_json TextResult(std::string text);
nlohmann::ordered_json ErrorResult(const Error& error);
// "ENOENT: no such file or directory, '/a/b'", where the error does not say more itself.
Error FileError(const Error& error, std::string_view path);
// Reads a file that is not too large to be sent.
Result<std::string> ReadWhole(const ToolCall& call, const std::string& path);

}  // namespace agentfs::mcp
