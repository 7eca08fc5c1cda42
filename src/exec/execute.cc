// SPDX-License-Identifier: Apache-2.0
#include "exec/execute.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "agentfs/path.h"
#include "exec/bubblewrap.h"
#include "exec/json_bytes.h"
#include "exec/policy_files.h"

namespace agentfs {
namespace {

using DetailsJson = nlohmann::ordered_json;
using policy::Action;
using policy::ExecutionDecision;

constexpr int kSignalStatus = 128;
constexpr int kNotRun = 125;
constexpr const char* kShells[] = {"/bin/bash", "/bin/sh"};

ExecutionFailure FailureOf(const char* code, const Error& error) {
  return {code, error.message(), std::string(error.remedy()), error.code()};
}

// The directory on the host: below the workspace's own path.
std::string HostDirectory(const Workspace& workspace, const std::string& cwd) {
  const std::string& base = workspace.layout.base;
  return cwd == "/" ? base : (base == "/" ? "" : base) + cwd;
}

std::vector<std::string> Words(const ExecutionRequest& request) {
  if (!request.shell) return request.argv;
  for (const char* shell : kShells) {
    if (::access(shell, X_OK) == 0) return {shell, "-c", *request.shell};
  }
  return {"sh", "-c", *request.shell};
}

policy::PolicyRequest QuestionFor(const ExecutionRequest& request, const Workspace& workspace) {
  policy::PolicyRequest question =
      PolicyRequestIn(workspace, HostDirectory(workspace, request.cwd));
  question.arguments = request.argv;
  if (request.shell) question.text = *request.shell;
  question.surroundings.has_input = request.input.has_value();
  for (const auto* paths : {&request.rules.cow, &request.rules.allow}) {
    for (const std::string& path : *paths) question.surroundings.writable.push_back(path);
  }
  if (!request.rules.network) question.network = policy::Network::kDeny;
  return question;
}

// One request on its way to its envelope.
class Execution {
 public:
  Execution(const ExecutionRequest& request, ExecutionHost& host, const ExecutionOptions& options)
      : host_(host), options_(options) {
    envelope_.request = request;
    envelope_.request.workspace = host.workspace().layout.root;
    if (auto normal = NormalizePath(request.cwd); normal.ok()) envelope_.request.cwd = *normal;
  }

  // An approval is for exactly this request: the policy is not asked for it again.
  void SetApproved(const std::string& id) {
    envelope_.approval_id = id;
    approved_ = true;
  }
  ExecutionEnvelope Run() &&;

 private:
  const ExecutionRequest& request() const { return envelope_.request; }
  bool Check();
  bool Decide();
  bool MayRun();
  void Refuse(ExecutionState state, const char* code, std::string message);
  void AskForApproval();
  void RunCommand();
  Result<Captured> RunInSandbox(const std::string& bubblewrap);
  void Take(Captured captured);
  void Conclude();
  std::string Details() const;
  void Fail(const char* code, const Error& error) { envelope_.error = FailureOf(code, error); }

  ExecutionHost& host_;
  const ExecutionOptions& options_;
  ExecutionEnvelope envelope_;
  ExecutionBegun begun_;
  SandboxRemains remains_;  // waited for last
  bool approved_ = false;
};

bool Execution::Check() {
  envelope_.error = CheckRequest(request());
  if (envelope_.error) return false;
  if (auto outside = CheckOutsideOfSandbox("exec"); !outside.ok()) {
    Fail("inside_sandbox", outside.error());
  } else if (auto base = CheckHasBase("exec", host_.workspace()); !base.ok()) {
    Fail("no_directory", base.error());
  }
  return !envelope_.error;
}

bool Execution::Decide() {
  const auto policies = LoadPolicies(host_.workspace());
  if (!policies.ok()) {
    Fail("invalid_policy", policies.error());
    return false;
  }
  envelope_.result.emplace();
  envelope_.result->read_only = request().read_only;
  envelope_.result->decision = policies->Decide(QuestionFor(request(), host_.workspace()));
  return true;
}

void Execution::Refuse(ExecutionState state, const char* code, std::string message) {
  envelope_.result->state = state;
  envelope_.error = ExecutionFailure{code, std::move(message), "", EACCES};
  // Not being able to write it down does not let it run.
  if (auto recorded = host_.Refuse({request(), envelope_.result->decision}); recorded.ok()) {
    envelope_.result->exec = *recorded;
  }
}

void Execution::AskForApproval() {
  ExecutionResult& result = *envelope_.result;
  if (request().input && request().input->size() > kMaxKeptInput) {
    envelope_.error = ExecutionFailure{
        "invalid_stdin", "stdin: a request that waits for approval keeps at most 1 MiB of it",
        "write it to a file of the workspace", EINVAL};
    result.state = ExecutionState::kApprovalRequired;
    return;
  }
  auto kept = host_.KeepApproval(RequestJson(request()).dump());
  if (!kept.ok()) return Fail("workspace_failed", kept.error());
  envelope_.approval_id = *kept;
  Refuse(ExecutionState::kApprovalRequired, "approval_required", result.decision.reason);
  envelope_.error->remedy = "agentfs exec --approve " + *kept;
}

bool Execution::MayRun() {
  const ExecutionDecision& decision = envelope_.result->decision;
  if (decision.action == Action::kDeny) {
    Refuse(ExecutionState::kDenied, "denied", decision.reason);
    return false;
  }
  if (decision.action != Action::kRequireApproval || approved_) return true;
  if (!options_.ask) {
    AskForApproval();
    return false;
  }
  if (options_.ask(decision, CommandText(request()))) return true;
  Refuse(ExecutionState::kDenied, "refused", "it was not approved");
  return false;
}

Result<Captured> Execution::RunInSandbox(const std::string& bubblewrap) {
  SandboxWish wish;
  wish.command = Words(request());
  wish.environment = request().environment;
  wish.inherited = options_.environment;
  wish.rules = request().rules;
  wish.directory = HostDirectory(host_.workspace(), request().cwd);
  wish.read_only = request().read_only;
  AGENTFS_ASSIGN(const SandboxedCommand command,
                 SetUpSandbox(host_.workspace(), begun_.place, bubblewrap, wish));
  CaptureOptions capture;
  capture.input = request().input;
  capture.timeout_ms = request().timeout_ms;
  capture.output_limit = request().output_limit;
  capture.keep_prefix = begun_.keep_prefix;
  capture.stop = options_.stop;
  capture.tee = options_.tee;
  return RunCaptured(command, capture);
}

void Execution::Take(Captured captured) {
  static constexpr ExecutionState kStates[] = {
      ExecutionState::kCompleted, ExecutionState::kTimedOut, ExecutionState::kCancelled};
  ExecutionResult& result = *envelope_.result;
  result.state = kStates[static_cast<size_t>(captured.end)];
  result.exit_code = captured.exit_code;
  result.signal = captured.signal;
  result.out = std::move(captured.out);
  result.err = std::move(captured.err);
  result.duration_us = captured.duration_us;
  result.cpu_us = captured.cpu_us;
  result.max_rss = captured.max_rss;
  remains_ = std::move(captured.remains);
}

// What is kept with the exec: small output itself, of large output that it is in a file.
std::string Execution::Details() const {
  const ExecutionResult& result = *envelope_.result;
  DetailsJson json = {{"state", StateName(result.state)}, {"cwd", ShownText(request().cwd)},
                      {"read_only", result.read_only},    {"duration_us", result.duration_us},
                      {"cpu_us", result.cpu_us},          {"max_rss_bytes", result.max_rss}};
  if (!envelope_.approval_id.empty()) json["approval_id"] = envelope_.approval_id;
  for (const auto& [name, output] :
       {std::pair<std::string, const CapturedOutput*>("stdout", &result.out),
        {"stderr", &result.err}}) {
    json[name + "_bytes"] = output->total;
    if (output->truncated || output->total > kInlineOutput) {
      json[name + "_kept"] = "file";
    } else {
      PutBytes(json, name, output->bytes);
    }
  }
  return json.dump();
}

void Execution::Conclude() {
  ExecutionResult& result = *envelope_.result;
  ExecutionEnd end;
  end.signal = result.signal.value_or(0);
  end.status = result.signal ? kSignalStatus + *result.signal : result.exit_code.value_or(kNotRun);
  end.details = Details();
  auto summary = host_.End(end);
  if (!summary.ok()) {
    if (!envelope_.error) Fail("workspace_failed", summary.error());
    return;
  }
  result.checkpoint = std::move(summary->checkpoint);
  result.changed_files = std::move(summary->changed_files);
  result.changed_files_total = summary->changed_files_total;
  result.changed_outside = summary->changed_outside;
  result.operations = std::move(summary->operations);
  result.denials = std::move(summary->denials);
}

void Execution::RunCommand() {
  ExecutionResult& result = *envelope_.result;
  const auto bubblewrap = FindBubblewrap();
  if (!bubblewrap.ok()) {
    result.state = ExecutionState::kSandboxFailed;
    return Fail("sandbox_failed", bubblewrap.error());
  }
  const std::vector<std::string> hidden = HiddenInViews(host_.workspace(), request().rules);
  auto begun = host_.Begin({request(), result.decision, hidden});
  if (!begun.ok()) {
    if (begun.code() != ENOENT && begun.code() != ENOTDIR) {
      return Fail("workspace_failed", begun.error());
    }
    return Fail("cwd_not_found", Error(ENOENT, begun.error().message()));
  }
  begun_ = std::move(*begun);
  begun_.place.absent = hidden;
  result.exec = begun_.exec;
  auto captured = RunInSandbox(*bubblewrap);
  if (captured.ok()) {
    Take(std::move(*captured));
  } else {
    result.state = ExecutionState::kSandboxFailed;
    Fail("sandbox_failed", captured.error());
  }
  Conclude();
}

ExecutionEnvelope Execution::Run() && {
  if (Check() && Decide() && MayRun()) RunCommand();
  return std::move(envelope_);
}

}  // namespace

ExecutionEnvelope Execute(const ExecutionRequest& request, ExecutionHost& host,
                          const ExecutionOptions& options) {
  return Execution(request, host, options).Run();
}

ExecutionEnvelope ExecuteApproved(const std::string& approval_id, ExecutionHost& host,
                                  const ExecutionOptions& options) {
  ExecutionEnvelope refused;
  refused.approval_id = approval_id;
  refused.request.workspace = host.workspace().layout.root;
  if (auto outside = CheckOutsideOfSandbox("exec"); !outside.ok()) {
    refused.error = FailureOf("inside_sandbox", outside.error());
    return refused;
  }
  auto text = host.TakeApproval(approval_id);
  if (!text.ok()) {
    const char* code = text.code() == ENOENT     ? "no_such_approval"
                       : text.code() == EALREADY ? "approval_used"
                       : text.code() == EPERM    ? "approval_of_another_user"
                                                 : "workspace_failed";
    refused.error = FailureOf(code, text.error());
    return refused;
  }
  auto request = RequestOfJson(DetailsJson::parse(*text, nullptr, false));
  if (!request.ok()) {
    refused.error = FailureOf("no_such_approval", request.error());
    return refused;
  }
  Execution execution(*request, host, options);
  execution.SetApproved(approval_id);
  return std::move(execution).Run();
}

}  // namespace agentfs
