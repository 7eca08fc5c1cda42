// SPDX-License-Identifier: Apache-2.0
//
// tool record, list, stats.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "agentfs/agent_state.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/one_line.h"
#include "cli/session.h"
#include "cli/time_argument.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

double Milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

Json OptionalJson(const std::optional<std::string>& text) {
  return text ? Json::parse(*text, nullptr, false) : Json(nullptr);
}

Json CallJson(const ToolCall& call) {
  Json json = {{"id", call.id},
               {"name", call.name},
               {"parameters", OptionalJson(call.parameters)},
               {"result", OptionalJson(call.result)},
               {"error", call.error.empty() ? Json(nullptr) : Json(call.error)},
               {"started", FormatTime(FromNanoseconds(call.started_ns))},
               {"completed", FormatTime(FromNanoseconds(call.completed_ns))},
               {"duration_ms", Milliseconds(call.completed_ns - call.started_ns)}};
  json["exec"] = call.exec != 0 ? Json(call.exec) : Json(nullptr);
  return json;
}

Result<ToolCall> CallOf(const ToolOptions& options) {
  ToolCall call;
  call.name = options.name;
  call.parameters = options.parameters;
  call.result = options.result;
  call.error = options.error;
  call.exec = options.exec;
  const int64_t now = ToNanoseconds(Now());
  call.completed_ns = now;
  if (!options.completed.empty()) {
    AGENTFS_ASSIGN(call.completed_ns, ParseTimeArgument(options.completed));
  }
  call.started_ns = call.completed_ns;
  if (!options.started.empty()) {
    AGENTFS_ASSIGN(call.started_ns, ParseTimeArgument(options.started));
  }
  return call;
}

}  // namespace

Result<int> RunToolRecord(Context& context, const ToolOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  AGENTFS_ASSIGN(ToolCall call, CallOf(options));
  AGENTFS_ASSIGN(call.id, context.Explain("tool: cannot record", options.name,
                                          RecordToolCall(session->volume(), call)));
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(CallJson(call)));
  } else {
    AGENTFS_TRY(context.Print(std::to_string(call.id) + "\n"));
  }
  return kDone;
}

Result<int> RunToolList(Context& context, const ToolOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  uint64_t left = options.limit != 0 ? options.limit : UINT64_MAX;
  AGENTFS_TRY(ListToolCalls(session->volume(), [&](const ToolCall& call) {
    if (!options.name.empty() && call.name != options.name) return Visit::kContinue;
    if (left-- == 0) return Visit::kStop;
    json.push_back(CallJson(call));
    rows.push_back({std::to_string(call.id), FormatLocalTime(FromNanoseconds(call.started_ns)),
                    fmt::format("{:.1f}", Milliseconds(call.completed_ns - call.started_ns)),
                    OneLine(call.name),
                    call.error.empty() ? "ok" : "failed: " + OneLine(call.error)});
    return Visit::kContinue;
  }));
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(json));
  } else {
    AGENTFS_TRY(context.PrintTable({"ID", "STARTED", "MS", "NAME", "OUTCOME"}, rows));
  }
  return kDone;
}

Result<int> RunToolStats(Context& context, const ToolOptions&) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  AGENTFS_ASSIGN(const auto tools, ToolCallStatistics(session->volume()));
  AGENTFS_TRY(session->Close());
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const ToolStatistics& tool : tools) {
    const double average = Milliseconds(tool.total_ns) / static_cast<double>(tool.calls);
    json.push_back({{"name", tool.name},
                    {"calls", tool.calls},
                    {"succeeded", tool.calls - tool.failed},
                    {"failed", tool.failed},
                    {"average_ms", average},
                    {"longest_ms", Milliseconds(tool.longest_ns)}});
    rows.push_back({OneLine(tool.name), std::to_string(tool.calls), std::to_string(tool.failed),
                    fmt::format("{:.1f}", average),
                    fmt::format("{:.1f}", Milliseconds(tool.longest_ns))});
  }
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(json));
  } else {
    AGENTFS_TRY(context.PrintTable({"NAME", "CALLS", "FAILED", "AVERAGE MS", "LONGEST MS"}, rows));
  }
  return kDone;
}

}  // namespace agentfs::cli
