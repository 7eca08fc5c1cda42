// SPDX-License-Identifier: Apache-2.0
//
// exec: one command for a program, and the envelope around it.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {
namespace {

void AddWhere(CLI::App& exec, ExecCommand& options) {
  exec.add_option("--branch", options.branch, "The branch, made if it is missing (default: main)")
      ->type_name("B");
  exec.add_option("--cwd", options.cwd, "A directory of the workspace (default: here)")
      ->type_name("DIR");
  exec.add_option("--checkpoint", options.checkpoint,
                  "auto (as the policy says), always or never (default: auto)")
      ->type_name("MODE");
  exec.add_flag("--read-only", options.read_only, "Nothing can be changed");
  exec.add_flag("--no-net", options.no_net, "No network");
  for (const auto& [name, list, text] :
       {std::tuple<const char*, std::vector<std::string>*, const char*>{
            "--cow", &options.cow, "A further directory that is copy-on-write"},
        {"--allow", &options.allow, "A directory that is really written to"},
        {"--hide", &options.hide, "What the command must not see"}}) {
    exec.add_option(name, *list, text)->type_name("PATH")->expected(1)->take_all();
  }
}

void AddStreams(CLI::App& exec, ExecCommand& options) {
  exec.add_option("--timeout", options.timeout,
                  "Seconds after which it is ended, with all it began")
      ->type_name("S");
  exec.add_option("--env", options.environment, "A variable, besides those of this process")
      ->type_name("K=V")
      ->expected(1)
      ->take_all();
  exec.add_flag("--stdin", options.input, "Hand over the standard input (default: it is empty)");
  exec.add_option("--output-limit", options.output_limit,
                  "Bytes of each stream in the envelope (default: 262144)")
      ->type_name("BYTES");
  exec.add_option("--label", options.label, "A word of the caller's own, for the history")
      ->type_name("TEXT");
}

}  // namespace

void AddExec(CLI::App& app, Context& context) {
  CLI::App& exec = AddCommand(
      app, "exec", "Run a command for a program: policy, checkpoint, sandbox, what changed",
      "  agentfs --json exec -- make test\n"
      "  agentfs --json exec --branch fix-42 --timeout 60 --shell 'cd src && make | tail'\n"
      "  agentfs exec --read-only -- grep -r TODO src\n"
      "  agentfs exec --approve a1b2...      # run what waits for approval, once\n"
      "  agentfs exec --output 12            # all that exec 12 has written");
  auto options = std::make_shared<ExecCommand>();
  AddWhere(exec, *options);
  AddStreams(exec, *options);
  auto* shell = exec.add_option("--shell", options->shell, "The command as text for a shell")
                    ->type_name("TEXT");
  auto* words = exec.add_option("ARGV", options->argv, "The command, after --")->type_name("");
  auto* approve = exec.add_option("--approve", options->approve, "Run what waits for approval")
                      ->type_name("ID")
                      ->excludes(shell)
                      ->excludes(words);
  auto* output = exec.add_option("--output", options->output, "Print what an exec has written")
                     ->type_name("ID")
                     ->excludes(shell)
                     ->excludes(words)
                     ->excludes(approve);
  exec.add_flag("--stderr", options->show_error, "With --output: its standard error")
      ->needs(output);
  exec.positionals_at_end();
  exec.callback([&context, options] {
    const bool shown = options->output.has_value();
    context.command = [&context, options, shown] {
      return shown ? RunExecOutput(context, *options) : RunExec(context, *options);
    };
    context.place = shown ? Place::kServer : Place::kClient;
  });
}

}  // namespace agentfs::cli
