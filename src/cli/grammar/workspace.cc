// SPDX-License-Identifier: Apache-2.0
//
// The workspace itself: init, status, upkeep.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {

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

void AddStatus(CLI::App& app, Context& context) {
  CLI::App& status = AddCommand(app, "status", "What the workspace is, has and is used for",
                                "  agentfs status\n  agentfs status --json");
  status.callback([&context] { context.command = [&context] { return RunStatus(context); }; });
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

void AddDoctor(CLI::App& app, Context& context) {
  CLI::App& doctor = AddCommand(
      app, "doctor", "Try what this machine can do; exit status 1 if commands cannot be run",
      "  agentfs doctor\n  agentfs doctor --json");
  doctor.callback([&context] {
    context.command = [&context] { return RunDoctor(context); };
    context.place = Place::kClient;
  });
}

}  // namespace agentfs::cli
