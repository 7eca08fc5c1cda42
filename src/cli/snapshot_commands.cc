// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string name, branch, message;
  std::vector<std::string> names;
};

std::string IdOf(const SnapshotInfo& snapshot) { return "s" + std::to_string(snapshot.number); }

Json ToJson(const SnapshotInfo& snapshot) {
  return {{"id", IdOf(snapshot)},          {"name", snapshot.name},
          {"branch", snapshot.branch},     {"message", snapshot.message},
          {"layer", snapshot.layer.value}, {"created", FormatTime(snapshot.created)}};
}

Result<int> Create(Context& context, const Options& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context));
  const std::string branch = options.branch.empty() ? std::string(kMainBranch) : options.branch;
  const std::string what = "snapshot " + options.name + (options.name.empty() ? "" : " ") + "of";
  AGENTFS_ASSIGN(SnapshotInfo snapshot,
                 context.Explain(what, branch,
                                 session->volume().CreateSnapshot(
                                     branch, options.name, options.message, Durability::kSynced)));
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(ToJson(snapshot)));
  } else {
    AGENTFS_TRY(context.Print(snapshot.name + "\n"));
  }
  return kDone;
}

Result<int> List(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context));
  const auto snapshots = session->volume().ListSnapshots();
  AGENTFS_TRY(session->Close());
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const SnapshotInfo& snapshot : snapshots) {
    json.push_back(ToJson(snapshot));
    rows.push_back({IdOf(snapshot), snapshot.name, snapshot.branch,
                    FormatLocalTime(snapshot.created), snapshot.message});
  }
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(json));
  } else {
    AGENTFS_TRY(context.PrintTable({"ID", "NAME", "BRANCH", "CREATED", "MESSAGE"}, rows));
  }
  return kDone;
}

Result<int> Delete(Context& context, const Options& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context));
  for (const std::string& name : options.names) {
    AGENTFS_TRY(context.Explain("snapshot", name, session->volume().DeleteSnapshot(name)));
  }
  AGENTFS_TRY(session->Close());
  if (context.json) AGENTFS_TRY(context.PrintJson({{"deleted", options.names}}));
  return kDone;
}

}  // namespace

void AddSnapshot(CLI::App& app, Context& context) {
  CLI::App& snapshot = AddCommand(app, "snapshot", "Snapshots: names for what a branch was",
                                  "  agentfs snapshot create before-refactor -m 'all green'\n"
                                  "  agentfs fs cat /src/a.c --snapshot before-refactor\n"
                                  "  agentfs branch create retry --from before-refactor");
  snapshot.require_subcommand(1);

  auto options = std::make_shared<Options>();
  CLI::App& create = AddCommand(snapshot, "create", "Keep what a branch is now",
                                "  agentfs snapshot create\n"
                                "  agentfs snapshot create v1 --branch feature -m 'first draft'");
  create.add_option("NAME", options->name, "Its name (default: its id)")->type_name("");
  create.add_option("--branch", options->branch, "The branch (default: main)")->type_name("B");
  create.add_option("-m,--message", options->message, "What to remember about it")
      ->type_name("TEXT");
  create.callback([&context, options] {
    context.command = [&context, options] { return Create(context, *options); };
  });

  CLI::App& list = AddCommand(snapshot, "list", "List the snapshots, oldest first",
                              "  agentfs snapshot list --json");
  list.callback([&context] { context.command = [&context] { return List(context); }; });

  CLI::App& remove = AddCommand(snapshot, "delete",
                                "Delete snapshots; branches that stand on them stay as they are",
                                "  agentfs snapshot delete before-refactor s3");
  remove.add_option("NAME", options->names, "Names or ids")->required()->type_name("");
  remove.callback([&context, options] {
    context.command = [&context, options] { return Delete(context, *options); };
  });
}

}  // namespace agentfs::cli
