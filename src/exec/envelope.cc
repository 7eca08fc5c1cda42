// SPDX-License-Identifier: Apache-2.0
#include "exec/envelope.h"

#include <nlohmann/json.hpp>

#include "exec/json_bytes.h"

namespace agentfs {
namespace {

using EnvelopeJsonType = nlohmann::ordered_json;

constexpr std::string_view kStateNames[] = {"completed", "timed_out",         "cancelled",
                                            "denied",    "approval_required", "sandbox_failed",
                                            "not_run"};
constexpr std::string_view kChangeNames[] = {"added", "removed", "modified", "renamed"};
constexpr double kMicrosecondsInMs = 1000;

template <typename T>
EnvelopeJsonType OrNull(const std::optional<T>& value) {
  return value ? EnvelopeJsonType(*value) : EnvelopeJsonType();
}

EnvelopeJsonType OrNull(const std::string& text) {
  return text.empty() ? EnvelopeJsonType() : EnvelopeJsonType(ShownText(text));
}

EnvelopeJsonType ChangesJson(const std::vector<ChangedFile>& files) {
  auto list = EnvelopeJsonType::array();
  for (const ChangedFile& file : files) {
    EnvelopeJsonType json;
    PutBytes(json, "path", file.path);
    json["change"] = kChangeNames[static_cast<size_t>(file.kind)];
    if (!file.old_path.empty()) PutBytes(json, "old_path", file.old_path);
    json["size_before"] = OrNull(file.size_before);
    json["size_after"] = OrNull(file.size_after);
    list.push_back(std::move(json));
  }
  return list;
}

EnvelopeJsonType OperationsJson(const std::vector<OperationCount>& operations) {
  auto json = EnvelopeJsonType::object();
  for (const OperationCount& each : operations) json[each.operation] = each.count;
  return json;
}

EnvelopeJsonType DenialsJson(const std::vector<ExecutionDenial>& denials) {
  auto list = EnvelopeJsonType::array();
  for (const ExecutionDenial& denial : denials) {
    EnvelopeJsonType json = {{"operation", denial.operation}};
    PutBytes(json, "path", denial.path);
    list.push_back(std::move(json));
  }
  return list;
}

void PutOutput(EnvelopeJsonType& json, const std::string& name, const CapturedOutput& output) {
  PutBytes(json, name, output.bytes);
  json[name + "_truncated"] = output.truncated;
  json[name + "_bytes"] = output.total;
}

EnvelopeJsonType ResultJson(const ExecutionResult& result) {
  EnvelopeJsonType json = {
      {"state", StateName(result.state)},
      {"exec", result.exec == 0 ? EnvelopeJsonType() : EnvelopeJsonType(result.exec)},
      {"decision", DecisionJson(result.decision)},
      {"exit_code", OrNull(result.exit_code)},
      {"signal", OrNull(result.signal)},
      {"timed_out", result.state == ExecutionState::kTimedOut}};
  PutOutput(json, "stdout", result.out);
  PutOutput(json, "stderr", result.err);
  json["duration_ms"] = static_cast<double>(result.duration_us) / kMicrosecondsInMs;
  json["cpu_ms"] = static_cast<double>(result.cpu_us) / kMicrosecondsInMs;
  json["max_rss_bytes"] = result.max_rss;
  json["read_only"] = result.read_only;
  json["checkpoint"] = OrNull(result.checkpoint);
  json["changed_files"] = ChangesJson(result.changed_files);
  json["changed_files_total"] = result.changed_files_total;
  json["changed_outside"] = result.changed_outside;
  json["operations"] = OperationsJson(result.operations);
  json["denials"] = DenialsJson(result.denials);
  return json;
}

EnvelopeJsonType FailureJson(const ExecutionFailure& failure) {
  EnvelopeJsonType json = {{"code", failure.code}, {"message", ShownText(failure.message)}};
  if (!failure.remedy.empty()) json["remedy"] = ShownText(failure.remedy);
  return json;
}

}  // namespace

std::string_view StateName(ExecutionState state) { return kStateNames[static_cast<size_t>(state)]; }

bool ExecutionEnvelope::success() const {
  return result && !error && result->state == ExecutionState::kCompleted && result->exit_code == 0;
}

EnvelopeJsonType DecisionJson(const policy::ExecutionDecision& decision) {
  auto categories = EnvelopeJsonType::array();
  for (policy::Category each : decision.categories.List()) {
    categories.push_back(policy::CategoryName(each));
  }
  return {{"action", policy::ActionName(decision.action)},
          {"categories", std::move(categories)},
          {"rule", ShownText(decision.rule)},
          {"reason", ShownText(decision.reason)}};
}

EnvelopeJsonType EnvelopeJson(const ExecutionEnvelope& envelope) {
  EnvelopeJsonType json = {{"schema_version", kEnvelopeVersion},
                           {"kind", "execution"},
                           {"success", envelope.success()},
                           {"request", RequestJson(envelope.request)}};
  if (envelope.result) json["result"] = ResultJson(*envelope.result);
  if (envelope.error) json["error"] = FailureJson(*envelope.error);
  if (!envelope.approval_id.empty()) json["approval_id"] = envelope.approval_id;
  return json;
}

std::string EnvelopeText(const ExecutionEnvelope& envelope) {
  return EnvelopeJson(envelope).dump(-1, ' ', false, EnvelopeJsonType::error_handler_t::replace);
}

}  // namespace agentfs
