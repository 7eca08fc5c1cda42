// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/fs_commands.h"
#include "cli/server/server.h"

namespace agentfs::cli {
namespace {

// A command below `app` with its description and the examples that end its help.
CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  command->fallthrough();  // the global options may come last
  if (!examples.empty()) command->footer("Examples:\n" + examples);
  return *command;
}

// Parsing the command chooses it; nothing runs before the whole command line was understood.
template <typename Options>
void Choose(CLI::App& app, Context& context, std::shared_ptr<Options> options,
            Result<int> (*run)(Context&, const Options&), Place place = Place::kServer) {
  app.callback([&context, options, run, place] {
    context.command = [&context, options, run] { return run(context, *options); };
    context.place = place;
  });
}

void AddInit(CLI::App& app, Context& context) {
  CLI::App& init = AddCommand(app, "init", "Make a workspace over a directory",
                              "  agentfs init                        # here\n"
                              "  agentfs init ~/project --single-file\n"
                              "  agentfs init /usr/src --state ~/src.agentfs\n"
                              "  agentfs init --bare scratch.db      # without a base");
  auto options = std::make_shared<InitOptions>();
  auto* directory =
      init.add_option("DIR", options->directory, "The base (default: here)")->type_name("");
  auto* state = init.add_option("--state", options->state,
                                "Keep everything in STATE instead of DIR/.agentfs; "
                                "--workspace STATE opens it")
                    ->type_name("STATE");
  init.add_flag("--single-file", options->single_file, "Keep all content in the database");
  init.add_option("--bare", options->bare, "A workspace without a base in one file")
      ->type_name("FILE")
      ->excludes(directory)
      ->excludes(state);
  Choose(init, context, options, RunInit, Place::kClient);
}

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

void AddGc(CLI::App& app, Context& context) {
  CLI::App& gc = AddCommand(app, "gc", "Reclaim what no branch and no snapshot needs",
                            "  agentfs gc\n  agentfs gc --json");
  gc.callback([&context] { context.command = [&context] { return RunGc(context); }; });
}

void AddFsck(CLI::App& app, Context& context) {
  CLI::App& fsck =
      AddCommand(app, "fsck", "Check the workspace's own data; exit status 1 if problems remain",
                 "  agentfs fsck\n  agentfs fsck --repair");
  auto repair = std::make_shared<bool>(false);
  fsck.add_flag("--repair", *repair, "Repair what can be");
  fsck.callback([&context, repair] {
    context.command = [&context, repair] {
      return RunFsck(context, *repair ? Repair::kYes : Repair::kNo);
    };
  });
}

void AddDiff(CLI::App& app, Context& context) {
  CLI::App& diff =
      AddCommand(app, "diff", "Show what a branch has changed, as a patch that git apply accepts",
                 "  agentfs diff                        # main against the base\n"
                 "  agentfs diff experiment --stat      # a branch against the base\n"
                 "  agentfs diff s3 /src                # from a snapshot to main, below /src\n"
                 "  agentfs diff s3 experiment --name-status\n"
                 "  agentfs diff | git -C ../copy apply");
  auto options = std::make_shared<DiffOptions>();
  diff.add_option("REF...PATH", options->arguments,
                  "Up to two of branch, snapshot or base, then paths in the workspace")
      ->type_name("");
  diff.add_option("--branch", options->branch, "The branch (default: main)")->type_name("B");
  auto* stat = diff.add_flag("--stat", options->stat, "Lines added and removed, with bars");
  diff.add_flag("--name-status", options->name_status,
                "A (added), M (modified), D (deleted) or R (renamed), and the path")
      ->excludes(stat);
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
  auto* paths = apply.add_option("PATH", options->paths, "Only these, and what is below them");
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

  CLI::App& undo = AddCommand(app, "undo", "Back to before the last run or exec",
                              "  agentfs undo\n  agentfs undo --branch experiment");
  auto undone = std::make_shared<UndoCommand>();
  undo.add_option("--branch", undone->branch, "The branch (default: main)")->type_name("B");
  Choose(undo, context, undone, RunUndo);
}

void AddExport(CLI::App& app, Context& context) {
  CLI::App& command = AddCommand(app, "export", "Write a branch or snapshot as a tar archive",
                                 "  agentfs export -o work.tar.zst\n"
                                 "  agentfs export before-refactor -o old.tar.zst\n"
                                 "  agentfs export -o - | ssh host tar -x --zstd -C copy");
  auto options = std::make_shared<ExportOptions>();
  command.add_option("REF", options->ref, "A branch, a snapshot or base (default: main)")
      ->type_name("");
  command.add_option("-o,--output", context.file, "The archive; - is stdout")
      ->required()
      ->type_name("FILE");
  command.add_option("--format", options->format, "tar: pax, compressed with zstd")
      ->type_name("F")
      ->check(CLI::IsMember({"tar"}));
  Choose(command, context, options, RunExport);
  command.preparse_callback([&context](size_t) { context.file_use = FileUse::kWrite; });
}

void AddImport(CLI::App& app, Context& context) {
  CLI::App& command =
      AddCommand(app, "import", "Make a branch, or a directory of it, what a tar archive holds",
                 "  agentfs import work.tar.zst\n"
                 "  agentfs import vendor.tar --to /third_party/vendor\n"
                 "  ssh host tar -c --zstd -C project . | agentfs import -");
  auto options = std::make_shared<ImportOptions>();
  command.add_option("FILE", context.file, "The archive, plain or with zstd; - is stdin")
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
                 "  agentfs --workspace work.db diff       # on any machine, without the base");
  command.add_option("-o,--output", context.file, "The database; - is stdout")
      ->required()
      ->type_name("FILE");
  command.callback([&context] { context.command = [&context] { return RunPack(context); }; });
  command.preparse_callback([&context](size_t) { context.file_use = FileUse::kWrite; });
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

// -- ARGV... or --shell TEXT, and where it would run.
void AddPolicyCommand(CLI::App& command, Context& context,
                      Result<int> (*run)(Context&, const PolicyOptions&)) {
  auto options = std::make_shared<PolicyOptions>();
  auto* shell = command.add_option("--shell", options->shell, "The command as text for a shell")
                    ->type_name("TEXT");
  command.add_option("ARGV", options->arguments, "The command, after --")
      ->type_name("")
      ->excludes(shell);
  command.add_option("--cwd", options->cwd, "Where it would run (default: here)")->type_name("DIR");
  command
      .add_option("--network", options->network,
                  "allow, ask or deny (default: the configuration's)")
      ->type_name("N")
      ->check(CLI::IsMember({"allow", "ask", "deny"}));
  command.positionals_at_end();
  command.callback([&context, options, run] {
    if (options->arguments.empty() && !options->shell) {
      throw CLI::RequiredError("-- ARGV... or --shell TEXT");
    }
    context.command = [&context, options, run] { return run(context, *options); };
    context.place = Place::kClient;
  });
}

void AddPolicy(CLI::App& app, Context& context) {
  CLI::App& policy = AddCommand(app, "policy", "What commands may do; nothing runs",
                                "  agentfs policy check -- rm -rf build\n"
                                "  agentfs policy explain --shell 'curl example.org | sh'\n"
                                "  agentfs policy test");
  policy.require_subcommand(1);
  AddPolicyCommand(
      AddCommand(policy, "check", "Decide about a command; exit status 1 if it may not run",
                 "  agentfs policy check -- git push\n"
                 "  agentfs policy check --shell 'make && rm -rf build' --json"),
      context, RunPolicyCheck);
  AddPolicyCommand(
      AddCommand(policy, "explain", "Show the parts of a command, and the rule for each",
                 "  agentfs policy explain --shell 'find . -name x | xargs rm'\n"
                 "  agentfs policy explain --network deny -- npm install"),
      context, RunPolicyExplain);
  CLI::App& test = AddCommand(policy, "test", "Check policy files and the examples in them",
                              "  agentfs policy test                # those in force here\n"
                              "  agentfs policy test policy.toml");
  auto options = std::make_shared<PolicyOptions>();
  test.add_option("FILE", options->arguments, "Files (default: the workspace's and the user's)")
      ->type_name("");
  Choose(test, context, options, RunPolicyTest, Place::kClient);
}

void AddStatus(CLI::App& app, Context& context) {
  CLI::App& status = AddCommand(app, "status", "What the workspace is, has and is used for",
                                "  agentfs status\n  agentfs status --json");
  status.callback([&context] { context.command = [&context] { return RunStatus(context); }; });
}

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
  run.add_option("--hide", options->hide, "What the command must not see")
      ->type_name("PATH")
      ->expected(1)
      ->take_all();
  run.add_flag("--no-net", options->no_net, "No network");
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

// Started by `mount`, not by people.
void AddServe(CLI::App& app, Context& context) {
  CLI::App& serve = AddCommand(app, "serve", "Hold the workspace for its mounts", "");
  serve.group("");
  auto options = std::make_shared<ServeOptions>();
  serve.add_option("--ready", options->ready, "Where to tell that it is ready");
  Choose(serve, context, options, RunServe, Place::kClient);
}

// Adds the commands below `fs`, which differ in their options and share where they work.
class FsBuilder {
 public:
  FsBuilder(CLI::App& fs, Context& context) : fs_(fs), context_(context) {}

  enum Paths { kOne, kMany, kManyOrRoot, kTwoOrMore };

  // A subcommand; reading ones take snapshots too.
  CLI::App& Add(const std::string& name, const std::string& description, Access access, Paths paths,
                FsCommand command, const std::string& examples) {
    CLI::App& app = AddCommand(fs_, name, description, examples);
    options_ = std::make_shared<FsOptions>();
    auto options = options_;
    auto* path =
        app.add_option("PATH", options->paths, "In the workspace, from its root")->type_name("");
    if (paths == kManyOrRoot) options->paths = {"/"};
    if (paths == kOne) path->required()->expected(1);
    if (paths == kMany) path->required();
    if (paths == kTwoOrMore) path->required()->expected(2, 1 << 20);
    auto* branch = app.add_option("--branch", options->view.branch, "The branch (default: main)")
                       ->type_name("B");
    if (access == Access::kRead) {
      app.add_option("--snapshot", options->view.snapshot, "A snapshot, or base")
          ->type_name("S")
          ->excludes(branch);
    }
    Choose(app, context_, options, command);
    return app;
  }

  FsOptions& options() { return *options_; }

 private:
  CLI::App& fs_;
  Context& context_;
  std::shared_ptr<FsOptions> options_;  // of the command added last
};

void AddReading(FsBuilder& add) {
  CLI::App& ls = add.Add("ls", "List directories", Access::kRead, FsBuilder::kManyOrRoot, FsLs,
                         "  agentfs fs ls /src\n  agentfs fs ls -l --snapshot s3 --json");
  ls.add_flag("-l,--long", add.options().long_format, "Modes, owners, sizes and times too");
  ls.add_flag("-d,--directory", add.options().directory, "Directories themselves");
  ls.set_help_flag("--help", "Print this help message and exit");
  ls.add_flag("-h,--human-readable", add.options().human, "Sizes like 1.5 MiB");

  add.Add("cat", "Print files", Access::kRead, FsBuilder::kMany, FsCat,
          "  agentfs fs cat /src/a.c\n  agentfs fs cat /src/a.c --snapshot base");
  add.Add("stat", "Print what is known about files; a link is not followed", Access::kRead,
          FsBuilder::kMany, FsStat, "  agentfs fs stat /src/a.c --json");

  CLI::App& tree = add.Add("tree", "Print a directory as a tree", Access::kRead,
                           FsBuilder::kManyOrRoot, FsTree, "  agentfs fs tree /src -L 2");
  tree.add_option("-L,--depth", add.options().max_depth, "At most N levels")->type_name("N");

  CLI::App& find =
      add.Add("find", "Find files by name and type", Access::kRead, FsBuilder::kManyOrRoot, FsFind,
              "  agentfs fs find /src --name '*.c' --type f");
  find.add_option("--name", add.options().name, "A pattern for the name, as in a shell")
      ->type_name("GLOB");
  find.add_option("--type", add.options().type, "f, d, l, p, s, b or c")
      ->type_name("T")
      ->check(CLI::IsMember({"f", "d", "l", "p", "s", "b", "c"}));
  find.add_option("--maxdepth", add.options().max_depth, "At most N levels")->type_name("N");

  CLI::App& du =
      add.Add("du", "Print how many bytes the files in directories have", Access::kRead,
              FsBuilder::kManyOrRoot, FsDu, "  agentfs fs du -sh /src\n  agentfs fs du --json");
  du.add_flag("-s,--summarize", add.options().summarize, "Only the totals");
  du.add_flag("-a,--all", add.options().all, "Files too");
  du.set_help_flag("--help", "Print this help message and exit");
  du.add_flag("-h,--human-readable", add.options().human, "Sizes like 1.5 MiB");
}

void AddWriting(FsBuilder& add) {
  add.Add("write", "Replace a file's content by stdin; make the file if it is missing",
          Access::kWrite, FsBuilder::kOne, FsWrite,
          "  echo hello | agentfs fs write /notes.txt --branch experiment");
  add.Add("append", "Add stdin to the end of a file; make the file if it is missing",
          Access::kWrite, FsBuilder::kOne, FsAppend, "  date | agentfs fs append /log.txt");

  CLI::App& mkdir = add.Add("mkdir", "Make directories", Access::kWrite, FsBuilder::kMany, FsMkdir,
                            "  agentfs fs mkdir -p /a/b/c");
  mkdir.add_flag("-p,--parents", add.options().parents,
                 "Parents too; what is there already is fine");
  mkdir.add_option("-m,--mode", add.options().mode, "Its mode")->type_name("MODE");

  CLI::App& rm = add.Add("rm", "Remove files", Access::kWrite, FsBuilder::kMany, FsRm,
                         "  agentfs fs rm /a.txt\n  agentfs fs rm -r /build");
  rm.add_flag("-r,-R,--recursive", add.options().recursive, "Directories with all they hold");
  rm.add_flag("-f,--force", add.options().force, "Files that are not there are fine");
}

void AddMoving(FsBuilder& add) {
  CLI::App& mv =
      add.Add("mv", "Rename, or move into a directory", Access::kWrite, FsBuilder::kTwoOrMore, FsMv,
              "  agentfs fs mv /old.c /new.c\n  agentfs fs mv /a.c /b.c /src");
  mv.add_flag("-n,--no-clobber", add.options().no_clobber, "Do not replace what is there");

  CLI::App& cp = add.Add("cp", "Copy files; costs no space until one of them changes",
                         Access::kWrite, FsBuilder::kTwoOrMore, FsCp,
                         "  agentfs fs cp /a.c /b.c\n  agentfs fs cp -r /src /backup");
  cp.add_flag("-r,-R,-a,--recursive", add.options().recursive, "Directories with all they hold");
  cp.add_flag("-n,--no-clobber", add.options().no_clobber, "Do not replace what is there");

  CLI::App& ln = add.Add("ln", "Make a link: TARGET, then the link's path", Access::kWrite,
                         FsBuilder::kTwoOrMore, FsLn,
                         "  agentfs fs ln /a.c /b.c\n  agentfs fs ln -s ../lib /src/lib");
  ln.add_flag("-s,--symbolic", add.options().symbolic, "A symbolic link; TARGET is any text");
  ln.add_flag("-f,--force", add.options().force, "Replace a file or link that is there");

  CLI::App& chmod =
      add.Add("chmod", "Change modes: MODE, then the paths", Access::kWrite, FsBuilder::kTwoOrMore,
              FsChmod, "  agentfs fs chmod 755 /run.sh\n  agentfs fs chmod -R go-w /src");
  chmod.add_flag("-R,--recursive", add.options().recursive, "Directories with all they hold");
}

void AddFs(CLI::App& app, Context& context) {
  CLI::App& fs = AddCommand(app, "fs", "Files of a branch or snapshot, without a mount",
                            "  agentfs fs ls /\n"
                            "  echo hello | agentfs fs write /notes.txt --branch experiment\n"
                            "  agentfs fs cat /notes.txt --branch experiment");
  fs.require_subcommand(1);
  FsBuilder add(fs, context);
  AddReading(add);
  AddWriting(add);
  AddMoving(add);
}

void AddDoctor(CLI::App& app, Context& context) {
  CLI::App& doctor = AddCommand(
      app, "doctor", "Try what this machine can do; exit status 1 if commands cannot be run",
      "  agentfs doctor\n  agentfs doctor --json");
  doctor.callback([&context] {
    context.command = [&context] { return RunDoctor(context); };
    context.place = Place::kClient;
  });
}

std::string FirstSentence(const std::string& text) { return text.substr(0, text.find('\n')); }

void CollectPlaces(const CLI::App& app, const std::string& place,
                   std::vector<CompletionPlace>& places) {
  const size_t at = places.size();
  places.push_back({place, {}, {}});
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      places[at].options.push_back({"--" + name, FirstSentence(option->get_description())});
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) {
         return !each->get_group().empty();  // the others are for ourselves
       })) {
    places[at].commands.push_back({command->get_name(), FirstSentence(command->get_description())});
    CollectPlaces(*command, place + " " + command->get_name(), places);
  }
}

void AddCompletion(CLI::App& app, Context& context) {
  CLI::App& completion =
      AddCommand(app, "completion", "Print a script that completes command lines",
                 "  source <(agentfs completion bash)\n"
                 "  agentfs completion zsh > ~/.zfunc/_agentfs\n"
                 "  agentfs completion fish | source");
  auto shell = std::make_shared<std::string>();
  completion.add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
  completion.callback([&app, &context, shell] {
    std::vector<CompletionPlace> places;
    CollectPlaces(app, "", places);
    context.command = [&context, script = RenderCompletion(*shell, places)]() -> Result<int> {
      if (!script.ok()) return script.error();
      AGENTFS_TRY(context.Print(*script));
      return kDone;
    };
    context.place = Place::kClient;
  });
}

void AddVersion(CLI::App& app, Context& context) {
  CLI::App& version = AddCommand(app, "version", "Print the version", "");
  version.callback([&context] {
    context.command = [&context] { return RunVersion(context); };
    context.place = Place::kClient;
  });
}

constexpr const char* kAbout =
    "A copy-on-write filesystem and execution boundary for AI agents.\n"
    "Every change lands in a branch; the real files stay as they are.";

constexpr const char* kExitHelp =
    "Exit status: 0 done, 1 the answer is no, 2 wrong usage, 3 conflict (nothing written),\n"
    "4 not found, 125 agentfs itself failed.";

// CLI11 takes "[a,b]" for a list. With a mark at its end it is a word, and options take it off.
constexpr char kWordMark = '\x1f';

void MarkWords(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument.starts_with("[") && argument.ends_with("]")) argument.push_back(kWordMark);
  }
}

void TakeOffMarks(CLI::App& app) {
  const CLI::Validator unmark(
      [](std::string& word) {
        if (word.ends_with(kWordMark)) word.pop_back();
        return std::string();
      },
      "", "");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->transform(unmark);
  }
  for (CLI::App* command : app.get_subcommands({})) TakeOffMarks(*command);
}

void Build(CLI::App& app, Context& context) {
  app.name("agentfs");
  app.require_subcommand(1);
  app.add_option("--workspace", context.workspace,
                 "The workspace: a directory with .agentfs/, a state directory, or a database "
                 "file (default: $AGENTFS_WORKSPACE, else found upwards from here)")
      ->type_name("DIR");
  app.add_flag("--json", context.json, "Print one JSON document");
  app.add_flag("--no-color", context.no_color, "No colours");
  app.add_flag("--quiet", context.quiet, "No notices");
  app.add_flag("--color", context.force_color, "Colours even if stdout is no terminal");
  app.set_version_flag("--version", "agentfs " AGENTFS_VERSION);
  app.footer(kExitHelp);
  AddInit(app, context);
  AddRun(app, context);
  AddSummary(app, context);
  AddMount(app, context);
  AddUnmount(app, context);
  AddStatus(app, context);
  AddDiff(app, context);
  AddApply(app, context);
  AddBackwards(app, context);
  AddLog(app, context);
  AddPolicy(app, context);
  AddExport(app, context);
  AddImport(app, context);
  AddPack(app, context);
  AddServe(app, context);
  AddFs(app, context);
  AddSnapshot(app, context);
  AddBranch(app, context);
  AddGc(app, context);
  AddFsck(app, context);
  AddDoctor(app, context);
  AddCompletion(app, context);
  AddVersion(app, context);
  TakeOffMarks(app);
}

// Options that people know from find(1), which have one dash and many letters.
void TranslateFindOptions(std::vector<std::string>& arguments) {
  bool find = false;
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    find |= argument == "find";
    if (find && (argument == "-name" || argument == "-type" || argument == "-maxdepth")) {
      argument.insert(0, "-");
    }
  }
}

bool AsksForJson(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--json") return true;
  }
  return false;
}

// "agentfs fs ls" for the innermost command that was recognised.
std::string CommandName(const CLI::App& app) {
  std::string name = app.get_name();
  const CLI::App* inner = &app;
  while (!inner->get_subcommands().empty()) {
    inner = inner->get_subcommands().front();
    name += " " + inner->get_name();
  }
  return name;
}

int ReportUsage(const CLI::App& app, Context& context, const CLI::ParseError& error) {
  std::string message = error.what();
  for (char& c : message) {
    if (c == '\n') c = ' ';
  }
  const std::string name = CommandName(app);
  // CLI11 only says that a command is missing; the word that is none says more.
  const std::vector<std::string> strangers = app.remaining(true);
  const bool no_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (no_command && !strangers.empty() && !strangers[0].starts_with("-")) {
    message = "there is no command '" + strangers[0] + "'";
  }
  const std::string what =
      name == "agentfs" ? "usage" : name.substr(std::string("agentfs ").size());
  context.Report(Error(EINVAL, what + ": " + message, "'" + name + " --help' shows the usage"));
  return kUsage;
}

}  // namespace

std::optional<int> ParseCommandLine(std::vector<std::string> arguments, Context& context) {
  CLI::App app(kAbout);
  Build(app, context);
  TranslateFindOptions(arguments);
  const bool json = AsksForJson(arguments);
  MarkWords(arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    app.exit(asked, text, text);
    return context.Print(text.str()).ok() && context.console->Flush().ok() ? kDone : kFailed;
  } catch (const CLI::ParseError& error) {
    context.json = json;
    return ReportUsage(app, context, error);
  }
  return std::nullopt;
}

}  // namespace agentfs::cli
