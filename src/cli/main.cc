// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/context.h"

namespace agentfs::cli {
namespace {

constexpr const char* kAbout =
    "A copy-on-write filesystem and execution boundary for AI agents.\n"
    "Every change lands in a branch; the real files stay as they are.";

constexpr const char* kExitHelp =
    "Exit status: 0 done, 1 the answer is no, 2 wrong usage, 3 conflict (nothing written),\n"
    "4 not found, 125 agentfs itself failed.";

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
  app.set_version_flag("--version", "agentfs " AGENTFS_VERSION);
  app.footer(kExitHelp);
  AddInit(app, context);
  AddFs(app, context);
  AddSnapshot(app, context);
  AddBranch(app, context);
  AddGc(app, context);
  AddFsck(app, context);
  AddVersion(app, context);
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
  const std::string what =
      name == "agentfs" ? "usage" : name.substr(std::string("agentfs ").size());
  context.Report(Error(EINVAL, what + ": " + message, "'" + name + " --help' shows the usage"));
  return kUsage;
}

int Run(Context& context) {
  auto status = context.command();
  if (!status.ok()) return context.Report(status.error());
  if (std::fflush(stdout) != 0) {
    return context.Report(Error(errno).WithContext("writing the output"));
  }
  return *status;
}

int Main(int argc, char** argv) {
  Context context;
  CLI::App app(kAbout);
  Build(app, context);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  TranslateFindOptions(arguments);
  const bool json = AsksForJson(arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    context.json = json;
    return ReportUsage(app, context, error);
  }
  return Run(context);
}

}  // namespace
}  // namespace agentfs::cli

int main(int argc, char** argv) {
  try {
    return agentfs::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "agentfs: internal error: %s\n", error.what());
    return agentfs::cli::kFailed;
  }
}
