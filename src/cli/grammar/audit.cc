// SPDX-License-Identifier: Apache-2.0
//
// The log of file operations: audit, audit prune, audit export.
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {
namespace {

void AddFilters(CLI::App& command, AuditCommand& options) {
  command.add_option("--path", options.path, "Only of these files, and what is in them")
      ->type_name("GLOB");
  command.add_option("--op", options.op, "Only of this kind: create, write, unlink ...")
      ->type_name("OP");
  command.add_option("--exec", options.exec, "Only of this run, exec or tool call")
      ->type_name("ID");
  command
      .add_option("--since", options.since,
                  "Only since this time: 15m, 2h, 3d ago, 2025-01-31T12:00:00Z, or seconds")
      ->type_name("T");
}

}  // namespace

void AddAudit(CLI::App& app, Context& context) {
  CLI::App& audit = AddCommand(app, "audit", "What was done to which files, by whom",
                               "  agentfs audit --path 'src/**' --since 2h\n"
                               "  agentfs audit --exec 7 --op unlink\n"
                               "  agentfs audit prune --before 30d\n"
                               "  agentfs audit export > ops.jsonl");
  auto options = std::make_shared<AuditCommand>();
  AddFilters(audit, *options);
  audit.add_option("--limit", options->limit, "At most so many, the last ones (0: all)")
      ->type_name("N")
      ->capture_default_str();
  audit.require_subcommand(0, 1);

  CLI::App& prune = AddCommand(audit, "prune", "Drop old rows",
                               "  agentfs audit prune --before 30d\n"
                               "  agentfs audit prune --keep 100000");
  auto pruned = std::make_shared<AuditPrune>();
  auto* before =
      prune.add_option("--before", pruned->before, "Those older than this")->type_name("T");
  auto* keep = prune.add_option("--keep", pruned->keep, "All but the last so many")->type_name("N");
  keep->excludes(before);
  CLI::App& exported = AddCommand(audit, "export", "All rows as JSON lines",
                                  "  agentfs audit export > ops.jsonl\n"
                                  "  agentfs audit export --exec 7");
  auto filters = std::make_shared<AuditCommand>();
  AddFilters(exported, *filters);

  Choose(prune, context, pruned, RunAuditPrune);
  Choose(exported, context, filters, RunAuditExport);
  audit.final_callback([&audit, &context, options, &prune, &exported] {
    if (prune.parsed() || exported.parsed()) return;
    context.command = [&context, options] { return RunAudit(context, *options); };
  });
}

}  // namespace agentfs::cli
