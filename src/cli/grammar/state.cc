// SPDX-License-Identifier: Apache-2.0
//
// What is kept beside the files, and asking: kv, tool, sql.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {
namespace {

// A range does not keep "nan" out.
CLI::Validator Finite() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.find_first_of("nN") == text.npos ? "" : "no number";
      },
      "");
}

}  // namespace

void AddSql(CLI::App& app, Context& context) {
  CLI::App& sql = AddCommand(
      app, "sql", "Ask about files, operations, execs, tool calls and values; reads only",
      "  agentfs sql 'SELECT path, size FROM files ORDER BY size DESC LIMIT 5'\n"
      "  agentfs sql \"SELECT path FROM ops WHERE exec = 7 AND op = 'unlink'\"\n"
      "  agentfs sql --csv 'SELECT * FROM execs' > execs.csv\n"
      "Views: files, changes, ops, paths, programs, execs, tool_calls, kv.");
  auto options = std::make_shared<SqlCommand>();
  sql.add_option("QUERY", options->query, "One SELECT; - is stdin")->required()->type_name("");
  sql.add_flag("--csv", options->csv, "Print CSV instead of a table");
  sql.add_option("--timeout", options->timeout, "Give up after so many seconds (default: 10)")
      ->type_name("S")
      ->check(CLI::Range(0.001, 86400.0) & Finite());
  sql.add_option("--limit", options->limit, "Print at most so many rows (default: 10000; 0: all)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, kMostRows));
  Choose(sql, context, options, RunSql, Place::kClient);
}

void AddKv(CLI::App& app, Context& context) {
  CLI::App& kv = AddCommand(app, "kv", "Values under keys: what an agent wants to remember",
                            "  agentfs kv set plan '{\"step\": 2}'\n"
                            "  agentfs kv get plan\n"
                            "  agentfs kv list session/");
  kv.require_subcommand(1);
  auto options = std::make_shared<KvOptions>();

  CLI::App& get = AddCommand(kv, "get", "Print a value; exit status 4 if there is none",
                             "  agentfs kv get plan\n  agentfs kv get --string user");
  get.add_option("KEY", options->key, "Its key")->required()->type_name("");
  get.add_flag("--string", options->string, "Print a string without its quotes");
  Choose(get, context, options, RunKvGet);

  CLI::App& set = AddCommand(kv, "set", "Keep a value, which is JSON",
                             "  agentfs kv set attempts 3\n"
                             "  agentfs kv set --string user 'Ada Lovelace'\n"
                             "  agentfs kv set report < report.json");
  set.add_option("KEY", options->key, "Its key")->required()->type_name("");
  set.add_option("VALUE", options->value, "The value (default: stdin)")->type_name("");
  set.add_flag("--string", options->string, "The value is a string, as it is");
  Choose(set, context, options, RunKvSet);

  CLI::App& remove = AddCommand(kv, "delete", "Forget values; exit status 4 if there is none",
                                "  agentfs kv delete plan attempts");
  remove.add_option("KEY", options->keys, "Their keys")->required()->type_name("");
  Choose(remove, context, options, RunKvDelete);

  CLI::App& list = AddCommand(kv, "list", "List keys and values, by key",
                              "  agentfs kv list\n  agentfs kv list session/ --json");
  list.add_option("PREFIX", options->key, "Only keys that begin so")->type_name("");
  Choose(list, context, options, RunKvList);
}

void AddTool(CLI::App& app, Context& context) {
  CLI::App& tool = AddCommand(app, "tool", "The log of an agent's tool calls",
                              "  agentfs tool record search --parameters '{\"q\": \"x\"}'\n"
                              "  agentfs tool list --json\n"
                              "  agentfs tool stats");
  tool.require_subcommand(1);
  auto options = std::make_shared<ToolOptions>();

  CLI::App& record =
      AddCommand(tool, "record", "Add a call that has ended; prints its id",
                 "  agentfs tool record search --parameters '{\"q\": \"x\"}' --result '[1, 2]'\n"
                 "  agentfs tool record fetch --error 'timed out' --started 1700000000.25 "
                 "--completed 1700000010");
  record.add_option("NAME", options->name, "The tool")->required()->type_name("");
  record.add_option("--parameters", options->parameters, "JSON")->type_name("JSON");
  auto* result = record.add_option("--result", options->result, "JSON")->type_name("JSON");
  record.add_option("--error", options->error, "Why it failed")
      ->type_name("TEXT")
      ->excludes(result);
  record
      .add_option("--started", options->started,
                  "Seconds since 1970, or 2025-01-31T12:00:00Z (default: when it was completed)")
      ->type_name("T");
  record.add_option("--completed", options->completed, "The same (default: now)")->type_name("T");
  record.add_option("--exec", options->exec, "The exec that it belongs to")
      ->type_name("ID")
      ->check(CLI::Range(int64_t{0}, kMostRows));
  Choose(record, context, options, RunToolRecord);

  CLI::App& list = AddCommand(tool, "list", "List the calls, newest first",
                              "  agentfs tool list\n  agentfs tool list search --limit 5 --json");
  list.add_option("NAME", options->name, "Only of this tool")->type_name("");
  list.add_option("--limit", options->limit, "At most so many (default: 100; 0: all)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, kMostRows));
  Choose(list, context, options, RunToolList);

  CLI::App& stats =
      AddCommand(tool, "stats", "How often each tool was called, and how long it took",
                 "  agentfs tool stats --json");
  Choose(stats, context, options, RunToolStats);
}

}  // namespace agentfs::cli
