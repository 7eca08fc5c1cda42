// SPDX-License-Identifier: Apache-2.0
//
// Commands and programs on a view: run, mount, and the server behind them.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"
#include "cli/server/server.h"

namespace agentfs::cli {

void AddRun(CLI::App& app, Context& context) {
  CLI::App& run = AddCommand(
      app, "run", "Run a command on a copy-on-write view of the workspace, in a sandbox",
      "  agentfs run -- claude\n"
      "  agentfs run --branch fix-42 -- make test\n"
      "  agentfs run --cow / --no-net -- bash      # everything may be changed, nothing is\n"
      "  agentfs run --apply -- ./migrate.sh");
  auto options = std::make_shared<RunCommand>();
  run.add_option("--branch", options->branch, "The branch, made if it is missing (default: main)")
      ->type_name("B");
  run.add_option("--cow", options->cow, "A further directory that is copy-on-write")
      ->type_name("DIR")
      ->expected(1)
      ->take_all();
  run.add_option("--allow", options->allow, "A directory that is really written to")
      ->type_name("DIR")
      ->expected(1)
      ->take_all();
  run.add_option("--hide", options->hide,
                 "What is absent for the command; below --allow it is there, but cannot be opened")
      ->type_name("PATH")
      ->expected(1)
      ->take_all();
  run.add_flag("--no-net", options->no_net, "No network");
  run.add_option("--audit", options->audit, "What is recorded: off, changes, all")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"off", "changes", "all"}));
  auto* apply = run.add_flag("--apply", options->apply, "Apply the branch's changes at the end");
  run.add_flag("--discard", options->discard, "Drop what the command changed at the end")
      ->excludes(apply);
  run.add_option("CMD", options->command, "The command, after --")->required()->type_name("");
  run.positionals_at_end();
  Choose(run, context, options, RunRun, Place::kClient);
}

// Printed by `run`.
void AddSummary(CLI::App& app, Context& context) {
  CLI::App& summary = AddCommand(app, "summary", "What changed since a snapshot", "");
  summary.group("");
  auto options = std::make_shared<SummaryOptions>();
  summary.add_option("--branch", options->branch, "The branch")->required();
  summary.add_option("--since", options->since, "The snapshot")->required();
  Choose(summary, context, options, RunSummary);
}

void AddMount(CLI::App& app, Context& context) {
  CLI::App& mount = AddCommand(app, "mount", "Show a branch or a snapshot at a directory",
                               "  agentfs mount /mnt/work\n"
                               "  agentfs mount /mnt/old --snapshot before-refactor\n"
                               "  agentfs mount /mnt/work --branch experiment --foreground");
  auto options = std::make_shared<MountCommand>();
  mount.add_option("MOUNTPOINT", options->point, "A directory")->required()->type_name("");
  auto* branch =
      mount.add_option("--branch", options->branch, "The branch (default: main)")->type_name("B");
  mount.add_option("--snapshot", options->snapshot, "A snapshot or base, read-only")
      ->type_name("S")
      ->excludes(branch);
  mount.add_flag("--foreground", options->foreground, "Stay, and unmount at Ctrl-C");
  mount.add_flag("--allow-other", options->allow_other, "Other users may use it too");
  mount.add_option("--profile", options->profile, "default, or bulk: large files at full speed")
      ->type_name("P")
      ->check(CLI::IsMember({"default", "bulk"}));
  mount.add_flag("--read-only", options->read_only, "Nothing can be changed through it");
  Choose(mount, context, options, RunMount, Place::kClient);
}

void AddUnmount(CLI::App& app, Context& context) {
  CLI::App& unmount =
      AddCommand(app, "umount", "Unmount a view; everything is saved when it returns",
                 "  agentfs umount /mnt/work\n  agentfs umount --all");
  auto options = std::make_shared<UnmountCommand>();
  auto* point = unmount.add_option("MOUNTPOINT", options->point, "Where it is mounted");
  point->type_name("");
  auto* all = unmount.add_flag("--all", options->all, "Every mount of the workspace");
  all->excludes(point);
  unmount.add_flag("--force", options->force, "Even if it is in use: the users get errors");
  Choose(unmount, context, options, RunUnmount, Place::kClient);
}

// Started by `mount`, not by people.
void AddServe(CLI::App& app, Context& context) {
  CLI::App& serve = AddCommand(app, "serve", "Hold the workspace for its mounts", "");
  serve.group("");
  auto options = std::make_shared<ServeOptions>();
  serve.add_option("--ready", options->ready, "Where to tell that it is ready");
  Choose(serve, context, options, RunServe, Place::kClient);
}

void AddMcp(CLI::App& app, Context& context) {
  CLI::App& mcp =
      AddCommand(app, "mcp", "A Model Context Protocol server on stdin and stdout",
                 "  agentfs mcp                          # what an agent is configured to run\n"
                 "  agentfs --workspace ~/project mcp --branch claude\n"
                 "  npx @modelcontextprotocol/inspector --cli agentfs mcp --method tools/list");
  auto options = std::make_shared<McpCommand>();
  mcp.add_option("--branch", options->branch, "The branch, made if it is missing (default: main)")
      ->type_name("B");
  Choose(mcp, context, options, RunMcp, Place::kClient);

  CLI::App& session = AddCommand(app, "mcp-session", "A client's session, in the server", "");
  session.group("");
  session.add_option("--branch", options->branch, "The branch");
  session.add_option("--env", options->environment, "A variable of the client's")
      ->expected(1)
      ->take_all();
  Choose(session, context, options, RunMcpSession);
}

}  // namespace agentfs::cli
