// SPDX-License-Identifier: Apache-2.0
//
// The commands below `fs`.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/fs_commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {
namespace {

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

}  // namespace

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

}  // namespace agentfs::cli
