// SPDX-License-Identifier: Apache-2.0
//
// What a branch has changed, and where it may go.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {

void AddDiff(CLI::App& app, Context& context) {
  CLI::App& diff =
      AddCommand(app, "diff", "Show what a branch has changed, as a patch that git apply accepts",
                 "  agentfs diff                        # main against the base\n"
                 "  agentfs diff experiment --stat      # a branch against the base\n"
                 "  agentfs diff s3 /src                # from a snapshot to main, below /src\n"
                 "  agentfs diff s3 experiment --name-status\n"
                 "  agentfs diff -- main                # the file main, not the branch\n"
                 "  agentfs diff --outside              # what --cow directories have\n"
                 "  agentfs diff | git -C ../copy apply");
  auto options = std::make_shared<DiffOptions>();
  diff.add_option("REF...PATH", options->arguments,
                  "Up to two of branch, snapshot or base, then paths; after -- only paths")
      ->type_name("");
  diff.add_option("--branch", options->branch, "The branch (default: main)")->type_name("B");
  auto* stat = diff.add_flag("--stat", options->stat, "Lines added and removed, with bars");
  diff.add_flag("--name-status", options->name_status,
                "A (added), M (modified), D (deleted) or R (renamed), and the path")
      ->excludes(stat);
  diff.add_flag("--outside", options->outside,
                "What was changed outside of the workspace (run --cow)");
  diff.add_flag("--exit-code", options->exit_code, "Exit status 1 if there are differences");
  Choose(diff, context, options, RunDiff);
  diff.preparse_callback([&context](size_t) { context.wants_pager = true; });
}

void AddApply(CLI::App& app, Context& context) {
  CLI::App& apply =
      AddCommand(app, "apply", "Write a branch's changes to the real files; all of them or nothing",
                 "  agentfs apply --dry-run             # what would be written, and conflicts\n"
                 "  agentfs apply\n"
                 "  agentfs apply --branch experiment /src\n"
                 "  agentfs apply --merge               # merge text that was changed in both\n"
                 "  agentfs apply --undo                # give back what the last one replaced");
  auto options = std::make_shared<ApplyCommand>();
  auto* paths = apply.add_option(
      "PATH", options->paths,
      "Only these, and what is below them; also outside of the workspace (run --cow)");
  paths->type_name("");
  apply.add_option("--branch", options->branch, "The branch (default: main)")->type_name("B");
  apply.add_flag("--dry-run", options->dry_run, "Write nothing");
  apply.add_flag("--yes", options->yes,
                 "Also what would act later: git hooks, .envrc, editor tasks, new executables, "
                 "links that leave the workspace");
  auto* merge = apply.add_flag("--merge", options->merge, "Merge text that both have changed");
  auto* force = apply.add_flag("--force", options->force, "Overwrite what the base has changed");
  force->excludes(merge);
  auto* undo = apply.add_flag("--undo", options->undo, "Take back the last apply");
  undo->excludes(paths)->excludes(merge);
  Choose(apply, context, options, RunApply);
}

void AddExport(CLI::App& app, Context& context) {
  CLI::App& command = AddCommand(app, "export", "Write a branch or snapshot as a tar archive",
                                 "  agentfs export -o work.tar.zst\n"
                                 "  agentfs export before-refactor -o old.tar.zst\n"
                                 "  agentfs export --format agentfs-spec -o agent.db\n"
                                 "  agentfs export -o - | ssh host tar -x --zstd -C copy");
  auto options = std::make_shared<ExportOptions>();
  command.add_option("REF", options->ref, "A branch, a snapshot or base (default: main)")
      ->type_name("");
  command.add_option("-o,--output", context.file, "The archive; - is stdout")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--format", options->format,
                  "tar: pax, compressed with zstd; agentfs-spec: a SQLite file of the public "
                  "Agent Filesystem Specification 0.4")
      ->type_name("F")
      ->check(CLI::IsMember({"tar", "agentfs-spec"}));
  Choose(command, context, options, RunExport);
  command.preparse_callback([&context](size_t) { context.file_use = FileUse::kWrite; });
}

void AddImport(CLI::App& app, Context& context) {
  CLI::App& command =
      AddCommand(app, "import", "Make a branch, or a directory of it, what an archive holds",
                 "  agentfs import work.tar.zst\n"
                 "  agentfs import agent.db\n"
                 "  agentfs import vendor.tar --to /third_party/vendor\n"
                 "  ssh host tar -c --zstd -C project . | agentfs import -");
  auto options = std::make_shared<ImportOptions>();
  command
      .add_option("FILE", context.file,
                  "A tar archive, plain or with zstd, or a SQLite file of the Agent "
                  "Filesystem Specification; - is stdin")
      ->required()
      ->type_name("");
  command.add_option("--branch", options->branch, "The branch (default: main)")->type_name("B");
  command.add_option("--to", options->to, "The directory that it replaces (default: /)")
      ->type_name("PATH");
  command.add_flag("--keep-links", options->keep_links,
                   "Take symbolic links that lead outside, too");
  command.callback([&context, options] {
    options->file = context.file;
    context.command = [&context, options] { return RunImport(context, *options); };
  });
  command.preparse_callback([&context](size_t) { context.file_use = FileUse::kRead; });
}

void AddPack(CLI::App& app, Context& context) {
  CLI::App& command =
      AddCommand(app, "pack", "Write the whole workspace, base and all, as one database",
                 "  agentfs pack -o work.db\n"
                 "  agentfs pack --no-history -o clean.db\n"
                 "  agentfs --workspace work.db diff       # on any machine, without the base");
  command.add_option("-o,--output", context.file, "The database; - is stdout")
      ->required()
      ->type_name("FILE");
  auto options = std::make_shared<PackCommand>();
  command.add_flag("--no-history", options->no_history,
                   "Leave out what was done: operations, execs, tool calls");
  command.callback([&context, options] {
    context.command = [&context, options] { return RunPack(context, *options); };
  });
  command.preparse_callback([&context](size_t) { context.file_use = FileUse::kWrite; });
}

}  // namespace agentfs::cli
