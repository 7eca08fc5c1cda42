// SPDX-License-Identifier: Apache-2.0
//
// The log of file operations: audit, audit prune, audit export.
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {
namespace {

CLI::Validator NotEmpty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "it is empty" : ""; },
                        "");
}

// Told before and after a subcommand alike.
void AddFilters(CLI::App& command, AuditCommand& options, const std::string& usual_limit) {
  command.add_option("--path", options.path, "Only of these files, and what is in them")
      ->type_name("GLOB")
      ->check(NotEmpty());
  command.add_option("--op", options.op, "Only of this kind: create, write, unlink ...")
      ->type_name("OP");
  command.add_option("--exec", options.exec, "Only of this run, exec or tool call")
      ->type_name("ID")
      ->check(CLI::Range(int64_t{0}, kMostRows));
  command
      .add_option("--since", options.since,
                  "Only since this time: 15m, 2h, 3d, 1w ago, 2025-01-31, 2025-01-31T12:00:00Z, or "
                  "seconds since 1970")
      ->type_name("T")
      ->check(NotEmpty());
  command.add_option("--limit", options.limit, "At most so many, the last ones" + usual_limit)
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, kMostRows));
}

}  // namespace

void AddAudit(CLI::App& app, Context& context) {
  CLI::App& audit = AddCommand(app, "audit", "What was done to which files, by whom",
                               "  agentfs audit --path 'src/**' --since 2h\n"
                               "  agentfs audit --exec 7 --op unlink\n"
                               "  agentfs audit prune --before 30d\n"
                               "  agentfs audit export > ops.jsonl");
  auto options = std::make_shared<AuditCommand>();
  AddFilters(audit, *options, " (default: 1000; 0: all)");
  audit.require_subcommand(0, 1);

  CLI::App& prune = AddCommand(audit, "prune", "Drop old rows",
                               "  agentfs audit prune --before 30d\n"
                               "  agentfs audit prune --keep 100000");
  auto pruned = std::make_shared<AuditPrune>();
  auto* before =
      prune.add_option("--before", pruned->before, "Those older than this: as with --since")
          ->type_name("T")
          ->check(NotEmpty());
  auto* keep = prune.add_option("--keep", pruned->keep, "All but the last so many")
                   ->type_name("N")
                   ->check(CLI::Range(int64_t{0}, kMostRows));
  keep->excludes(before);
  CLI::App& exported = AddCommand(audit, "export", "All rows as JSON lines",
                                  "  agentfs audit export > ops.jsonl\n"
                                  "  agentfs audit export --exec 7");
  AddFilters(exported, *options, "");

  Choose(prune, context, pruned, RunAuditPrune);
  Choose(exported, context, options, RunAuditExport);
  audit.final_callback([&audit, &context, options, &prune, &exported] {
    if (prune.parsed() || exported.parsed()) return;
    context.command = [&context, options] { return RunAudit(context, *options); };
  });
}

}  // namespace agentfs::cli
