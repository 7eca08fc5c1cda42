// SPDX-License-Identifier: Apache-2.0
//
// Branches and snapshots, and going back to them.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {

void AddSnapshot(CLI::App& app, Context& context) {
  CLI::App& snapshot = AddCommand(app, "snapshot", "Snapshots: names for what a branch was",
                                  "  agentfs snapshot create before-refactor -m 'all green'\n"
                                  "  agentfs fs cat /src/a.c --snapshot before-refactor\n"
                                  "  agentfs branch create retry --from before-refactor");
  snapshot.require_subcommand(1);

  auto options = std::make_shared<SnapshotOptions>();
  CLI::App& create = AddCommand(snapshot, "create", "Keep what a branch is now",
                                "  agentfs snapshot create\n"
                                "  agentfs snapshot create v1 --branch feature -m 'first draft'");
  create.add_option("NAME", options->name, "Its name (default: its id)")->type_name("");
  create.add_option("--branch", options->branch, "The branch (default: main)")->type_name("B");
  create.add_option("-m,--message", options->message, "What to remember about it")
      ->type_name("TEXT");
  Choose(create, context, options, RunSnapshotCreate);

  CLI::App& list = AddCommand(snapshot, "list", "List the snapshots, oldest first",
                              "  agentfs snapshot list --json");
  Choose(list, context, options, RunSnapshotList);

  CLI::App& remove = AddCommand(snapshot, "delete",
                                "Delete snapshots; branches that stand on them stay as they are",
                                "  agentfs snapshot delete before-refactor s3");
  remove.add_option("NAME", options->names, "Names or ids")->required()->type_name("");
  Choose(remove, context, options, RunSnapshotDelete);
}

void AddBranch(CLI::App& app, Context& context) {
  CLI::App& branch = AddCommand(app, "branch", "Branches: lines of changes over the base",
                                "  agentfs branch create experiment\n"
                                "  agentfs fs write /notes.txt --branch experiment < notes\n"
                                "  agentfs branch delete experiment");
  branch.require_subcommand(1);

  auto options = std::make_shared<BranchOptions>();
  CLI::App& create = AddCommand(branch, "create", "Fork a branch; costs nothing",
                                "  agentfs branch create experiment\n"
                                "  agentfs branch create retry --from before-refactor\n"
                                "  agentfs branch create clean --from base");
  create.add_option("NAME", options->name, "Its name")->required()->type_name("");
  create.add_option("--from", options->from, "A branch, a snapshot, or base (default: main)")
      ->type_name("REF");
  Choose(create, context, options, RunBranchCreate);

  CLI::App& list =
      AddCommand(branch, "list", "List the branches by name", "  agentfs branch list --json");
  Choose(list, context, options, RunBranchList);

  CLI::App& remove = AddCommand(branch, "delete", "Delete a branch and its changes",
                                "  agentfs branch delete experiment");
  remove.add_option("NAME", options->name, "The branch")->required()->type_name("");
  remove.add_flag("--force", options->force, "A branch that is not there is fine");
  Choose(remove, context, options, RunBranchDelete);

  auto binding = std::make_shared<BindOptions>();
  CLI::App& bind =
      AddCommand(branch, "bind", "Show a running process, and those that it starts, a branch",
                 "  agentfs branch bind experiment --pid 4711");
  bind.add_option("NAME", binding->name, "The branch")->required()->type_name("");
  bind.add_option("--pid", binding->pid, "The process; it needs a mount namespace of its own")
      ->required()
      ->type_name("PID");
  bind.add_option("--path", binding->path, "Where it sees it (default: where the base is)")
      ->type_name("DIR");
  Choose(bind, context, binding, RunBranchBind, Place::kClient);
}

void AddBackwards(CLI::App& app, Context& context) {
  CLI::App& discard =
      AddCommand(app, "discard", "Drop a branch's changes; they are snapshotted first",
                 "  agentfs discard\n  agentfs discard --branch experiment /src");
  auto dropped = std::make_shared<DiscardCommand>();
  discard.add_option("PATH", dropped->paths, "Only these, and what is below them")->type_name("");
  discard.add_option("--branch", dropped->branch, "The branch (default: main)")->type_name("B");
  Choose(discard, context, dropped, RunDiscard);

  CLI::App& restore =
      AddCommand(app, "restore", "Make a branch, or paths of it, what a snapshot was",
                 "  agentfs restore before-refactor\n"
                 "  agentfs restore s3 /src/a.c          # what it replaces is snapshotted first");
  auto restored = std::make_shared<RestoreCommand>();
  restore.add_option("REF", restored->ref, "A snapshot, a branch, or base")
      ->required()
      ->type_name("");
  restore.add_option("PATH", restored->paths, "Only these, and what is below them")->type_name("");
  restore.add_option("--branch", restored->branch, "The branch (default: main)")->type_name("B");
  Choose(restore, context, restored, RunRestore);

  CLI::App& undo = AddCommand(app, "undo", "Back to before the last run, exec or edit by a tool",
                              "  agentfs undo\n  agentfs undo --branch experiment");
  auto undone = std::make_shared<UndoCommand>();
  undo.add_option("--branch", undone->branch, "The branch (default: main)")->type_name("B");
  Choose(undo, context, undone, RunUndo);
}

void AddLog(CLI::App& app, Context& context) {
  CLI::App& log = AddCommand(app, "log", "Runs, snapshots and applies, newest first",
                             "  agentfs log\n"
                             "  agentfs log /src/a.c                # the versions of a file");
  auto options = std::make_shared<LogCommand>();
  log.add_option("PATH", options->path, "Only the versions of this file")->type_name("");
  log.add_option("--branch", options->branch, "The branch (of a file's versions: main)")
      ->type_name("B");
  Choose(log, context, options, RunLog);
  log.preparse_callback([&context](size_t) { context.wants_pager = true; });
}

}  // namespace agentfs::cli
