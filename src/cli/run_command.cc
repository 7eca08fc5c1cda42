// SPDX-License-Identifier: Apache-2.0
//
// run: a command in a sandbox over a branch. It runs in the client, which holds the run at the
// server by its connection.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "adapters/control/client.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/server/forward.h"
#include "cli/server/start.h"
#include "exec/bubblewrap.h"
#include "exec/runner.h"
#include "sys/own_namespace.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

PathKind KindOf(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return PathKind::kAbsent;
  return S_ISDIR(st.st_mode) ? PathKind::kDirectory : PathKind::kFile;
}

// For people: words with spaces are quoted.
std::string CommandText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$") == std::string::npos;
    text += plain ? word : "'" + word + "'";
  }
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

// The workspace, made here if there is none and none was named.
Result<Workspace> FindOrMake(Context& context) {
  auto found = LocateWorkspace(context);
  const bool named = !context.workspace.empty() || !Variable("AGENTFS_WORKSPACE").empty();
  if (found.ok() || found.code() != ENOENT || named) return found;
  InitOptions options;
  options.directory = ".";
  AGENTFS_ASSIGN(Workspace made, InitWorkspace(context, options));
  context.Notice("agentfs: made a workspace: " + made.layout.root);
  return made;
}

Result<void> CheckOutside() {
  if (Variable("AGENTFS") != "1") return Ok();
  return Error(EOPNOTSUPP, "run: this is a sandbox of agentfs already",
               "run it outside, in a branch of its own");
}

Result<void> CheckHasBase(const Workspace& workspace) {
  if (!workspace.layout.base.empty()) return Ok();
  return Error(EOPNOTSUPP, "run: " + workspace.layout.root + " has no directory to run in",
               "'agentfs mount' shows a bare workspace at one");
}

std::vector<std::string> Absolute(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) all.push_back(AbsolutePath(path));
  return all;
}

SandboxFacts FactsOf(const Workspace& workspace, const control::RunState& run) {
  SandboxFacts facts;
  facts.workspace = workspace.layout.base;
  facts.view = run.session + "/branches/" + run.branch;
  facts.host_view = run.session + "/host/" + run.branch;
  facts.secrets = {std::filesystem::path(workspace.layout.database).parent_path(),
                   std::filesystem::path(run.session).parent_path()};
  facts.home = AbsolutePath(Variable("HOME").empty() ? "/root" : Variable("HOME"));
  facts.is_root = ::geteuid() == 0;
  facts.kind_of = KindOf;
  return facts;
}

// Links in the paths of config.toml lead to what is meant.
SandboxRules Resolved(SandboxRules rules, const std::string& home) {
  for (auto* paths : {&rules.cow, &rules.allow, &rules.hide}) {
    for (std::string& path : *paths) {
      if (path == "~" || path.starts_with("~/")) path = home + path.substr(1);
      path = AbsolutePath(path);
    }
  }
  return rules;
}

Result<control::RunState> Begin(control::ControlClient& client, const RunCommand& command) {
  AGENTFS_ASSIGN(const Json begun, client.Call("run.begin", {{"branch", command.branch}},
                                               CommandText(command.command)));
  if (begun.value("uid", uint32_t{0}) != ::geteuid()) {
    return Error(EACCES, "the workspace is served for another user", "run it as that user");
  }
  control::RunState run;
  run.branch = begun.value("branch", std::string());
  run.created = begun.value("created", false);
  run.checkpoint = begun.value("checkpoint", std::string());
  run.session = begun.value("session", std::string());
  run.namespaces_of = begun.value("namespaces_of", uint32_t{0});
  return run;
}

Result<int> RunInside(const Workspace& workspace, const RunCommand& asked,
                      const control::RunState& run, const std::string& bubblewrap) {
  if (run.namespaces_of != 0) AGENTFS_TRY(JoinNamespacesOf(run.namespaces_of));
  const SandboxFacts facts = FactsOf(workspace, run);
  SandboxRules flags;
  flags.cow = Absolute(asked.cow);
  flags.allow = Absolute(asked.allow);
  flags.hide = Absolute(asked.hide);
  flags.network = !asked.no_net;
  SandboxedCommand command;
  AGENTFS_ASSIGN(command.plan,
                 MakeSandboxPlan(Resolved(workspace.config.sandbox, facts.home), flags, facts));
  command.bubblewrap = bubblewrap;
  command.command = asked.command;
  command.environment = {"AGENTFS=1", "AGENTFS_WORKSPACE=" + facts.workspace,
                         "AGENTFS_BRANCH=" + run.branch};
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored);
  command.directory = IsVisible(command.plan, here) ? here : facts.workspace;
  command.fallback = facts.workspace;
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
  AGENTFS_TRY(CheckOutside());
  AGENTFS_ASSIGN(const std::string bubblewrap, FindBubblewrap());
  AGENTFS_ASSIGN(const Workspace workspace, FindOrMake(context));
  AGENTFS_TRY(CheckHasBase(workspace));
  AGENTFS_ASSIGN(auto client, ConnectOrStart(workspace));
  AGENTFS_ASSIGN(const control::RunState run, Begin(client, command));
  AGENTFS_ASSIGN(const int status, RunInside(workspace, command, run, bubblewrap));
  auto concluded = Conclude(context, client, command, run);
  if (concluded.code() == ECONNRESET) {
    return Error(EIO, "the workspace's server ended while the command ran",
                 "what it had saved is in branch " + run.branch + ": 'agentfs diff'");
  }
  if (!concluded.ok()) return concluded.error();
  return status != 0 ? status : *concluded;
}

}  // namespace agentfs::cli
