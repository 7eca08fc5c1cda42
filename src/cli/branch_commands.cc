// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string name;
  std::string from = std::string(kMainBranch);
  bool force = false;
};

// The names of the snapshots by the layers that they name.
std::map<LayerId, std::string> SnapshotNames(Volume& volume) {
  std::map<LayerId, std::string> names;
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) names[snapshot.layer] = snapshot.name;
  return names;
}

// What the branch stands on, as far as it has a name.
std::string StandsOn(const BranchInfo& branch, const std::map<LayerId, std::string>& snapshots) {
  if (!branch.parent) return "base";
  auto it = snapshots.find(branch.parent);
  return it == snapshots.end() ? "" : it->second;
}

Json ToJson(const BranchInfo& branch, const std::map<LayerId, std::string>& snapshots) {
  const std::string on = StandsOn(branch, snapshots);
  return {{"name", branch.name},
          {"on", on.empty() ? Json() : Json(on)},
          {"layer", branch.layer.value},
          {"parent", branch.parent.value},
          {"created", FormatTime(branch.created)},
          {"in_use", branch.in_use}};
}

Result<int> Create(Context& context, const Options& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context));
  AGENTFS_ASSIGN(BranchInfo branch,
                 context.Explain("branch", options.name,
                                 session->volume().CreateBranch(options.name, options.from)));
  const auto snapshots = SnapshotNames(session->volume());
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(ToJson(branch, snapshots)));
  } else {
    AGENTFS_TRY(context.Print(branch.name + "\n"));
  }
  return kDone;
}

Result<int> List(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context));
  const auto branches = session->volume().ListBranches();
  const auto snapshots = SnapshotNames(session->volume());
  AGENTFS_TRY(session->Close());
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const BranchInfo& branch : branches) {
    json.push_back(ToJson(branch, snapshots));
    const std::string on = StandsOn(branch, snapshots);
    rows.push_back({branch.name, on.empty() ? "-" : on, FormatLocalTime(branch.created),
                    branch.in_use ? "yes" : "no"});
  }
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(json));
  } else {
    AGENTFS_TRY(context.PrintTable({"NAME", "ON", "CREATED", "IN USE"}, rows));
  }
  return kDone;
}

Result<int> Delete(Context& context, const Options& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context));
  auto deleted = session->volume().DeleteBranch(options.name);
  if (deleted.code() == ENOENT && options.force) deleted = Ok();
  AGENTFS_TRY(context.Explain("branch", options.name, std::move(deleted)));
  AGENTFS_TRY(session->Close());
  if (context.json) AGENTFS_TRY(context.PrintJson({{"deleted", {options.name}}}));
  return kDone;
}

}  // namespace

void AddBranch(CLI::App& app, Context& context) {
  CLI::App& branch = AddCommand(app, "branch", "Branches: lines of changes over the base",
                                "  agentfs branch create experiment\n"
                                "  agentfs fs write /notes.txt --branch experiment < notes\n"
                                "  agentfs branch delete experiment");
  branch.require_subcommand(1);

  auto options = std::make_shared<Options>();
  CLI::App& create = AddCommand(branch, "create", "Fork a branch; costs nothing",
                                "  agentfs branch create experiment\n"
                                "  agentfs branch create retry --from before-refactor\n"
                                "  agentfs branch create clean --from base");
  create.add_option("NAME", options->name, "Its name")->required()->type_name("");
  create.add_option("--from", options->from, "A branch, a snapshot, or base (default: main)")
      ->type_name("REF");
  create.callback([&context, options] {
    context.command = [&context, options] { return Create(context, *options); };
  });

  CLI::App& list =
      AddCommand(branch, "list", "List the branches by name", "  agentfs branch list --json");
  list.callback([&context] { context.command = [&context] { return List(context); }; });

  CLI::App& remove = AddCommand(branch, "delete", "Delete a branch and its changes",
                                "  agentfs branch delete experiment");
  remove.add_option("NAME", options->name, "The branch")->required()->type_name("");
  remove.add_flag("--force", options->force, "A branch that is not there is fine");
  remove.callback([&context, options] {
    context.command = [&context, options] { return Delete(context, *options); };
  });
}

}  // namespace agentfs::cli
