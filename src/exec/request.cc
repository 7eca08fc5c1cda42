// SPDX-License-Identifier: Apache-2.0
#include "exec/request.h"

#include <algorithm>

#include "agentfs/exec_log.h"
#include "agentfs/path.h"
#include "agentfs/volume.h"

namespace agentfs {
namespace {

constexpr std::string_view kModeNames[] = {"auto", "always", "never"};

using Check = std::optional<ExecutionFailure>;

ExecutionFailure Bad(const char* code, std::string message, std::string remedy = {}) {
  return {code, std::move(message), std::move(remedy), EINVAL};
}

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Check CheckBranch(const ExecutionRequest& request) {
  const auto named = CheckRefName(request.branch);
  if (!named.ok()) return Bad("invalid_branch", "branch: " + named.error().message());
  if (request.branch == "base") {
    return Bad("invalid_branch", "branch: 'base' is what the branches stand on");
  }
  return {};
}

Check CheckCwd(const ExecutionRequest& request) {
  const bool good = request.cwd.starts_with('/') && !HasNul(request.cwd);
  if (good && NormalizePath(request.cwd).ok()) return {};
  return Bad("invalid_cwd", "cwd: '" + request.cwd + "' is no path in the workspace",
             "paths in a workspace start with '/', which is its root");
}

Check CheckCommand(const ExecutionRequest& request) {
  if (request.argv.empty() == !request.shell) {
    return Bad("invalid_command", "it takes a command: either words or text for a shell");
  }
  if (request.shell && (request.shell->empty() || HasNul(*request.shell))) {
    return Bad("invalid_command", "the text for the shell is empty or has a NUL in it");
  }
  if (!request.argv.empty() && request.argv.front().empty()) {
    return Bad("invalid_command", "the first word, which names the program, is empty");
  }
  if (std::any_of(request.argv.begin(), request.argv.end(), HasNul)) {
    return Bad("invalid_command", "a word of the command has a NUL in it");
  }
  return {};
}

Check CheckLimits(const ExecutionRequest& request) {
  if (request.timeout_ms < 0 || request.timeout_ms > kMaxTimeoutMs) {
    return Bad("invalid_timeout", "timeout: it must be positive, and at most seven days");
  }
  if (request.output_limit > kMaxOutputLimit) {
    return Bad("invalid_output_limit", "output limit: at most 64 MiB of a stream can be asked for",
               "all of it is kept: 'agentfs exec --output ID'");
  }
  if (request.input && request.input->size() > kMaxInput) {
    return Bad("invalid_stdin", "stdin: at most 64 MiB can be handed over",
               "write it to a file of the workspace");
  }
  return {};
}

Check CheckEnvironment(const ExecutionRequest& request) {
  for (const std::string& each : request.environment) {
    const size_t end = each.find('=');
    if (end == std::string::npos || end == 0 || HasNul(each)) {
      return Bad("invalid_environment", "environment: '" + each + "' is not NAME=value");
    }
    if (each.substr(0, end).starts_with("AGENTFS")) {
      return Bad("invalid_environment", "environment: AGENTFS... is what agentfs itself tells");
    }
  }
  return {};
}

Check CheckLabel(const ExecutionRequest& request) {
  if (request.label.size() <= kMaxLabel && !HasNul(request.label)) return {};
  return Bad("invalid_label", "label: at most 256 bytes, without a NUL");
}

Check CheckRules(const ExecutionRequest& request) {
  for (const auto* paths : {&request.rules.cow, &request.rules.allow, &request.rules.hide}) {
    for (const std::string& path : *paths) {
      if (path.starts_with('/') && !HasNul(path)) continue;
      return Bad("invalid_path", "'" + path + "' is no absolute path");
    }
  }
  return {};
}

}  // namespace

std::string_view CheckpointModeName(CheckpointMode mode) {
  return kModeNames[static_cast<size_t>(mode)];
}

std::optional<CheckpointMode> CheckpointModeNamed(std::string_view name) {
  const auto* found = std::find(std::begin(kModeNames), std::end(kModeNames), name);
  if (found == std::end(kModeNames)) return std::nullopt;
  return static_cast<CheckpointMode>(found - std::begin(kModeNames));
}

Check CheckRequest(const ExecutionRequest& request) {
  for (const auto check : {CheckBranch, CheckCwd, CheckCommand, CheckLimits, CheckEnvironment,
                           CheckLabel, CheckRules}) {
    if (auto wrong = check(request)) return wrong;
  }
  return {};
}

std::string CommandText(const ExecutionRequest& request) {
  ExecStart start;
  start.shell = request.shell.has_value();
  start.command = request.shell ? std::vector<std::string>{*request.shell} : request.argv;
  return CommandText(start);
}

}  // namespace agentfs
