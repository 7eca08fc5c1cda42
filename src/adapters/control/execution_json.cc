// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/execution_json.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "exec/json_bytes.h"

namespace agentfs::control {
namespace {

using ExecJson = nlohmann::ordered_json;

struct ParsedBegin {
  ExecutionRequest request;
  policy::ExecutionDecision decision;
  std::vector<std::string> hidden;
};

Result<ParsedBegin> ParseBegin(const ExecJson& arguments) {
  ParsedBegin begin;
  AGENTFS_ASSIGN(begin.request, RequestOfJson(arguments.value("request", ExecJson())));
  const ExecJson decision = arguments.value("decision", ExecJson::object());
  const auto action = policy::ActionNamed(GetBytes(decision, "action"));
  if (!action) return Error(EINVAL, "argument 'decision' has no action");
  begin.decision.action = *action;
  begin.decision.rule = GetBytes(decision, "rule");
  begin.decision.reason = GetBytes(decision, "reason");
  begin.hidden = GetByteList(arguments, "hidden");
  return begin;
}

uint64_t CountOf(const ExecJson& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number_unsigned() ? it->get<uint64_t>() : 0;
}

std::optional<uint64_t> SizeOfJson(const ExecJson& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number_unsigned()) return std::nullopt;
  return it->get<uint64_t>();
}

}  // namespace

ExecJson BeginJson(const ExecutionBegin& begin) {
  ExecutionRequest request = begin.request;
  request.input.reset();  // it is not the server's business, and may be long
  ExecJson json = {{"request", RequestJson(request)}, {"decision", DecisionJson(begin.decision)}};
  PutBytes(json, "hidden", begin.hidden);
  return json;
}

ExecJson SummaryJson(const ExecutionSummary& summary) {
  ExecJson files = ExecJson::array();
  for (const ChangedFile& file : summary.changed_files) {
    ExecJson json = {{"kind", static_cast<int>(file.kind)}};
    PutBytes(json, "path", file.path);
    if (!file.old_path.empty()) PutBytes(json, "old_path", file.old_path);
    if (file.size_before) json["before"] = *file.size_before;
    if (file.size_after) json["after"] = *file.size_after;
    files.push_back(std::move(json));
  }
  ExecJson operations = ExecJson::object(), denials = ExecJson::array();
  for (const OperationCount& each : summary.operations) operations[each.operation] = each.count;
  for (const ExecutionDenial& each : summary.denials) {
    ExecJson json = {{"operation", each.operation}};
    PutBytes(json, "path", each.path);
    denials.push_back(std::move(json));
  }
  return {{"checkpoint", summary.checkpoint},     {"files", std::move(files)},
          {"total", summary.changed_files_total}, {"outside", summary.changed_outside},
          {"operations", std::move(operations)},  {"denials", std::move(denials)}};
}

ExecutionSummary SummaryOfJson(const ExecJson& json) {
  ExecutionSummary summary;
  summary.checkpoint = json.value("checkpoint", std::string());
  for (const ExecJson& each : json.value("files", ExecJson::array())) {
    ChangedFile file;
    file.kind = static_cast<ChangedFile::Kind>(each.value("kind", 0));
    file.path = GetBytes(each, "path");
    file.old_path = GetBytes(each, "old_path");
    file.size_before = SizeOfJson(each, "before");
    file.size_after = SizeOfJson(each, "after");
    summary.changed_files.push_back(std::move(file));
  }
  summary.changed_files_total = CountOf(json, "total");
  summary.changed_outside = CountOf(json, "outside");
  const ExecJson operations = json.value("operations", ExecJson::object());
  for (const auto& [name, count] : operations.items()) {
    summary.operations.push_back({name, count.get<uint64_t>()});
  }
  for (const ExecJson& each : json.value("denials", ExecJson::array())) {
    summary.denials.push_back({GetBytes(each, "operation"), GetBytes(each, "path")});
  }
  return summary;
}

Result<ExecJson> AnswerExecBegin(Executions& executions, const ExecJson& arguments,
                                 const ExecutionPeer& peer) {
  if (peer.connection == 0) {
    return Error(EOPNOTSUPP, "an execution needs a connection to the server");
  }
  AGENTFS_ASSIGN(const ParsedBegin begin, ParseBegin(arguments));
  AGENTFS_ASSIGN(const ExecutionBegun begun,
                 executions.Begin({begin.request, begin.decision, begin.hidden}, peer));
  return ExecJson{{"exec", begun.exec},
                  {"branch", begun.place.branch},
                  {"session", begun.place.session},
                  {"namespaces_of", begun.place.namespaces_of},
                  {"keep_prefix", begun.keep_prefix},
                  {"inner_program", begun.place.inner_program},
                  {"uid", ::geteuid()}};
}

Result<ExecJson> AnswerExecEnd(Executions& executions, const ExecJson& arguments,
                               const std::string& details, const ExecutionPeer& peer) {
  ExecutionEnd end;
  end.status = arguments.value("status", 0);
  end.signal = arguments.value("signal", 0);
  end.details = details;
  AGENTFS_ASSIGN(const ExecutionSummary summary, executions.End(end, peer.connection));
  return SummaryJson(summary);
}

Result<ExecJson> AnswerExecRefuse(Executions& executions, const ExecJson& arguments,
                                  const ExecutionPeer& peer) {
  AGENTFS_ASSIGN(const ParsedBegin begin, ParseBegin(arguments));
  AGENTFS_ASSIGN(const uint64_t exec, executions.Refuse({begin.request, begin.decision}, peer));
  return ExecJson{{"exec", exec}};
}

}  // namespace agentfs::control
