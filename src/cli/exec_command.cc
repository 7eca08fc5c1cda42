// SPDX-License-Identifier: Apache-2.0
//
// exec: the execution boundary for the command line. The command runs as a child of this process.
#include <fmt/core.h>

#include <cmath>

#include "adapters/control/execution_client.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/path_arguments.h"
#include "cli/server/start.h"
#include "exec/execute.h"

namespace agentfs::cli {
namespace {

constexpr int kTimedOut = 124;  // as timeout(1) has it
constexpr int kSignalled = 128;

Result<std::string> ReadInput(const Context& context) {
  std::string input, piece(64 << 10, '\0');
  for (;;) {
    AGENTFS_ASSIGN(const size_t size, context.console->Read(piece));
    input.append(piece, 0, size);
    // More than may be will do: CheckRequest says so.
    if (size < piece.size() || input.size() > kMaxInput) return input;
  }
}

// Where the command starts: as said, or here if that is in the workspace.
std::string DirectoryFor(const Context& context, const Layout& layout, const ExecCommand& command) {
  if (command.cwd) {
    auto path = WorkspacePath(context, layout, *command.cwd);
    return path.ok() ? *path : *command.cwd;
  }
  auto here = WorkspacePath(context, layout, ".");
  return here.ok() ? *here : "/";
}

int64_t Milliseconds(double seconds) {
  // What cannot be said in milliseconds is no time-out either.
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return -1;
  return static_cast<int64_t>(std::ceil(seconds * 1000));
}

Result<ExecutionRequest> RequestOf(const Context& context, const Layout& layout,
                                   const ExecCommand& command) {
  ExecutionRequest request;
  request.workspace = layout.root;
  if (command.branch) request.branch = *command.branch;
  request.cwd = DirectoryFor(context, layout, command);
  request.argv = command.argv;
  request.shell = command.shell;
  request.read_only = command.read_only;
  request.timeout_ms = Milliseconds(command.timeout);
  request.environment = command.environment;
  if (command.output_limit) request.output_limit = *command.output_limit;
  request.label = command.label.value_or("");
  request.rules = ResolveRules({command.cow, command.allow, command.hide, !command.no_net});
  if (command.input) {
    AGENTFS_ASSIGN(request.input, ReadInput(context));
  }
  return request;
}

// What is not written as the request wants it, before there is a request.
std::optional<ExecutionFailure> CheckSpelling(const ExecCommand& command, CheckpointMode& mode) {
  const auto named = CheckpointModeNamed(command.checkpoint);
  if (!named) {
    return ExecutionFailure{
        "invalid_checkpoint",
        "checkpoint: '" + command.checkpoint + "' is none of auto, always, never", "", EINVAL};
  }
  mode = *named;
  return {};
}

bool Ask(const Context& context, const policy::ExecutionDecision& decision,
         const std::string& command) {
  const auto answer = context.console->AskYesOrNo(
      fmt::format("agentfs: {}\n{} ({}). Run it?", command, decision.reason, decision.rule));
  return answer.ok() && *answer;
}

ExecutionOptions OptionsFor(const Context& context, const ExecCommand& command) {
  ExecutionOptions options;
  if (context.console->CanAsk() && !command.input) {
    options.ask = [&context](const policy::ExecutionDecision& decision, const std::string& text) {
      return Ask(context, decision, text);
    };
  }
  if (!context.json) {
    options.tee = [&context](OutputStream stream, std::string_view piece) {
      if (stream == OutputStream::kErr) return context.console->WriteError(std::string(piece));
      // Who has stopped reading wants no more of it.
      if (context.console->Write(piece).ok()) (void)context.console->Flush();
    };
  }
  return options;
}

int StatusOf(const ExecutionEnvelope& envelope) {
  if (envelope.error) {
    const bool decided =
        envelope.result && (envelope.result->state == ExecutionState::kDenied ||
                            envelope.result->state == ExecutionState::kApprovalRequired);
    if (decided) return kNo;
    return cli::StatusOf(Error(envelope.error->error));
  }
  const ExecutionResult& result = *envelope.result;
  if (result.state == ExecutionState::kTimedOut) return kTimedOut;
  if (result.signal) return kSignalled + *result.signal;
  return result.exit_code.value_or(kFailed);
}

Result<int> PrintEnvelope(const Context& context, const ExecutionEnvelope& envelope) {
  if (context.json) {
    AGENTFS_TRY(context.Print(EnvelopeText(envelope) + "\n"));
  }
  if (const auto& error = envelope.error) {
    std::string text = fmt::format("agentfs: exec: {}: {}\n", error->code, error->message);
    if (!error->remedy.empty()) text += error->remedy + "\n";
    context.console->WriteError(text);
  } else if (envelope.result->state == ExecutionState::kTimedOut) {
    context.Notice("agentfs: exec: it was ended: its time was up");
  }
  return StatusOf(envelope);
}

// A workspace that is not there is an envelope, too.
ExecutionEnvelope WithoutWorkspace(const ExecCommand& command, const Error& error) {
  ExecutionEnvelope envelope;
  envelope.request.argv = command.argv;
  envelope.request.shell = command.shell;
  if (command.branch) envelope.request.branch = *command.branch;
  const char* code = error.code() == ENOENT  ? "workspace_not_found"
                     : error.code() == EPERM ? "inside_sandbox"
                                             : "workspace_failed";
  envelope.error =
      ExecutionFailure{code, error.message(), std::string(error.remedy()), error.code()};
  return envelope;
}

}  // namespace

Result<int> RunExec(Context& context, const ExecCommand& command) {
  auto workspace = LocateWorkspace(context);
  if (!workspace.ok()) return PrintEnvelope(context, WithoutWorkspace(command, workspace.error()));
  control::ExecutionClient host(*workspace, ConnectOrStart);
  const ExecutionOptions options = OptionsFor(context, command);
  if (!command.approve.empty()) {
    return PrintEnvelope(context, ExecuteApproved(command.approve, host, options));
  }
  AGENTFS_ASSIGN(ExecutionRequest request, RequestOf(context, workspace->layout, command));
  if (auto wrong = CheckSpelling(command, request.checkpoint)) {
    ExecutionEnvelope envelope;
    envelope.request = std::move(request);
    envelope.error = std::move(wrong);
    return PrintEnvelope(context, envelope);
  }
  return PrintEnvelope(context, Execute(request, host, options));
}

}  // namespace agentfs::cli
