// SPDX-License-Identifier: Apache-2.0
//
// run: a command in a sandbox over a branch. It runs in the client, which holds the run at the
// server by its connection.
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "adapters/control/client.h"
#include "agentfs/exec_log.h"
#include "base/environment.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/server/forward.h"
#include "cli/server/start.h"
#include "exec/bubblewrap.h"
#include "exec/json_bytes.h"
#include "exec/runner.h"
#include "exec/sandbox_setup.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string CurrentDirectory() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored);
}

// The workspace, made here if there is none and none was named.
Result<Workspace> FindOrMake(Context& context) {
  auto found = LocateWorkspace(context);
  const bool named = !context.workspace.empty() || !Environment("AGENTFS_WORKSPACE").empty();
  if (found.ok() || found.code() != ENOENT || named || CurrentDirectory().empty()) return found;
  InitOptions options;
  options.directory = ".";
  AGENTFS_ASSIGN(Workspace made, InitWorkspace(context, options));
  context.Notice("agentfs: made a workspace: " + made.layout.root);
  return made;
}

// What flags ask of the sandbox, and what its views must not show for that.
struct Wanted {
  SandboxRules rules;
  std::vector<std::string> absent;
};

Wanted WantedOf(const Workspace& workspace, const RunCommand& asked) {
  Wanted wanted;
  wanted.rules = ResolveRules({asked.cow, asked.allow, asked.hide, !asked.no_net});
  wanted.absent = HiddenInViews(workspace, wanted.rules);
  return wanted;
}

// JSON has no other bytes.
std::vector<std::string> Utf8(std::vector<std::string> words) {
  for (std::string& word : words) {
    word = Json::parse(Json(word).dump(-1, ' ', false, Json::error_handler_t::replace))
               .get<std::string>();
  }
  return words;
}

Result<control::RunState> Begin(control::ControlClient& client, const RunCommand& command,
                                const std::vector<std::string>& absent) {
  Json arguments = {{"branch", command.branch},
                    {"argv", Utf8(command.command)},
                    {"directory", CurrentDirectory()},
                    {"audit", command.audit}};
  PutBytes(arguments, "hidden", absent);
  AGENTFS_ASSIGN(const Json begun, client.Call("run.begin", arguments,
                                               CommandText(ExecStart{.command = command.command})));
  if (begun.value("uid", uint32_t{0}) != ::geteuid()) {
    return Error(EACCES, "the workspace is served for another user", "run it as that user");
  }
  control::RunState run;
  run.branch = begun.value("branch", std::string());
  run.created = begun.value("created", false);
  run.checkpoint = begun.value("checkpoint", std::string());
  run.session = begun.value("session", std::string());
  run.namespaces_of = begun.value("namespaces_of", uint32_t{0});
  run.exec = begun.value("exec", uint64_t{0});
  return run;
}

void End(control::ControlClient& client, const control::RunState& run, int status) {
  constexpr int kEndedBySignal = 128;
  const uint32_t signal =
      status > kEndedBySignal ? static_cast<uint32_t>(status - kEndedBySignal) : 0;
  // The run itself went well: if the server has gone, what follows says so.
  (void)client.Call(
      "run.end",
      {{"exec", run.exec}, {"status", static_cast<uint32_t>(status)}, {"signal", signal}});
}

Result<int> RunInside(const Workspace& workspace, const RunCommand& asked, const Wanted& wanted,
                      const control::RunState& run, const std::string& bubblewrap) {
  SandboxWish wish;
  wish.command = asked.command;
  wish.rules = wanted.rules;
  wish.directory = CurrentDirectory();
  AGENTFS_ASSIGN(
      const SandboxedCommand command,
      SetUpSandbox(workspace,
                   {run.branch, run.session, run.namespaces_of, run.exec, {}, wanted.absent},
                   bubblewrap, wish));
  return RunSandboxed(command);
}

// A command line of ours, run by the server with this process's streams.
Result<int> Forward(const Context& context, control::ControlClient& client,
                    std::vector<std::string> arguments, int out) {
  if (context.quiet) arguments.insert(arguments.begin(), "--quiet");
  return ForwardOver(context, client, arguments, out);
}

Result<int> Conclude(const Context& context, control::ControlClient& client,
                     const RunCommand& command, const control::RunState& run) {
  if (!context.quiet) {
    AGENTFS_TRY(Forward(context, client,
                        {"summary", "--branch", run.branch, "--since", run.checkpoint},
                        STDERR_FILENO));
  }
  if (command.discard) {
    AGENTFS_TRY(client.Call("restore", {{"branch", run.branch}, {"ref", run.checkpoint}}));
    context.Notice("agentfs: discarded");
    return kDone;
  }
  if (!command.apply) return kDone;
  return Forward(context, client, {"apply", "--branch", run.branch}, STDOUT_FILENO);
}

}  // namespace

Result<int> RunRun(Context& context, const RunCommand& command) {
  AGENTFS_TRY(CheckOutsideOfSandbox("run"));
  AGENTFS_ASSIGN(const std::string bubblewrap, FindBubblewrap());
  AGENTFS_ASSIGN(const Workspace workspace, FindOrMake(context));
  AGENTFS_TRY(CheckHasBase("run", workspace));
  const Wanted wanted = WantedOf(workspace, command);
  AGENTFS_ASSIGN(auto client, ConnectOrStart(workspace));
  AGENTFS_ASSIGN(const control::RunState run, Begin(client, command, wanted.absent));
  AGENTFS_ASSIGN(const int status, RunInside(workspace, command, wanted, run, bubblewrap));
  End(client, run, status);
  auto concluded = Conclude(context, client, command, run);
  if (concluded.code() == ECONNRESET) {
    return Error(EIO, "the workspace's server ended while the command ran",
                 "what it had saved is in branch " + run.branch + ": 'agentfs diff'");
  }
  if (!concluded.ok()) return concluded.error();
  return status != 0 ? status : *concluded;
}

}  // namespace agentfs::cli
