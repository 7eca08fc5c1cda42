// SPDX-License-Identifier: Apache-2.0
//
// policy check, explain, test.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {
namespace {

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

}  // namespace

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

}  // namespace agentfs::cli
