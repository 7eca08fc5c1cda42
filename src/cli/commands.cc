// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <CLI/CLI.hpp>

namespace agentfs::cli {

CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  command->fallthrough();  // the global options may come last
  if (!examples.empty()) command->footer("Examples:\n" + examples);
  return *command;
}

}  // namespace agentfs::cli
