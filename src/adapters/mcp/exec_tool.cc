// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "adapters/mcp/tools.h"
#include "exec/envelope.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> ListArgument(const Json& arguments, const char* name) {
  const auto list = arguments.find(name);
  return list == arguments.end() ? std::vector<std::string>()
                                 : list->get<std::vector<std::string>>();
}

Result<ExecutionRequest> RequestFrom(const ToolCall& call) {
  const Json& arguments = call.arguments;
  ExecutionRequest request;
  request.branch = arguments.value("branch", call.branch.name);
  if (arguments.contains("cwd")) {
    AGENTFS_ASSIGN(request.cwd, call.PathArgument("cwd"));
  }
  if (arguments.contains("command")) request.shell = arguments["command"].get<std::string>();
  request.argv = ListArgument(arguments, "argv");
  request.read_only = arguments.value("read_only", false);
  if (const auto mode = CheckpointModeNamed(arguments.value("checkpoint", "auto"))) {
    request.checkpoint = *mode;
  }
  request.timeout_ms = arguments.value("timeout_ms", int64_t{0});
  request.environment = ListArgument(arguments, "environment");
  if (arguments.contains("stdin")) request.input = arguments["stdin"].get<std::string>();
  request.rules.network = arguments.value("network", true);
  request.label = arguments.value("label", "mcp");
  return request;
}

std::string_view ChangeMark(ChangedFile::Kind kind) {
  static constexpr std::string_view kMarks[] = {"A", "D", "M", "R"};
  return kMarks[static_cast<size_t>(kind)];
}

void AddStream(std::string& text, const CapturedOutput& output, const char* name) {
  if (output.bytes.empty()) return;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (std::string_view(name) != "stdout") text += fmt::format("[{}]\n", name);
  text += output.bytes;
  if (output.truncated) text += fmt::format("\n[{} was cut: {} bytes]\n", name, output.total);
}

void AddChanges(std::string& text, const ExecutionResult& result) {
  constexpr size_t kShown = 50;
  if (result.changed_files.empty()) return;
  text += "[changed files]\n";
  for (size_t i = 0; i < result.changed_files.size() && i < kShown; ++i) {
    const ChangedFile& file = result.changed_files[i];
    text += fmt::format("{} {}\n", ChangeMark(file.kind), file.path);
  }
  if (result.changed_files_total > kShown) {
    text += fmt::format("... {} in all\n", result.changed_files_total);
  }
}

// For the model: what the command printed, and what else there is to know.
std::string TextOf(const ExecutionEnvelope& envelope) {
  if (envelope.error) {
    std::string text = envelope.error->code + ": " + envelope.error->message;
    if (!envelope.error->remedy.empty()) text += "\n" + envelope.error->remedy;
    return text;
  }
  const ExecutionResult& result = *envelope.result;
  std::string text;
  AddStream(text, result.out, "stdout");
  AddStream(text, result.err, "stderr");
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (result.state == ExecutionState::kTimedOut) text += "[timed out]\n";
  if (result.signal) text += fmt::format("[signal {}]\n", *result.signal);
  if (result.exit_code.value_or(0) != 0) text += fmt::format("[exit code {}]\n", *result.exit_code);
  AddChanges(text, result);
  return text;
}

}  // namespace

Result<Json> ExecCommand(ToolCall& call) {
  AGENTFS_ASSIGN(const ExecutionRequest request, RequestFrom(call));
  const ExecutionEnvelope envelope = call.host.Execute(request, call.stop);
  if (envelope.result) call.exec = envelope.result->exec;
  Json result;
  result["content"] = Json::array({{{"type", "text"}, {"text", TextOf(envelope)}}});
  result["structuredContent"] = EnvelopeJson(envelope);
  // A command that has failed has run; only one that could not is an error of the call.
  if (envelope.error) result["isError"] = true;
  return result;
}

}  // namespace agentfs::mcp
