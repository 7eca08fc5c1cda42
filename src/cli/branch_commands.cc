// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

Result<int> RunBranchCreate(Context& context, const BranchOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
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

Result<int> RunBranchList(Context& context, const BranchOptions&) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
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

Result<int> RunBranchDelete(Context& context, const BranchOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  auto deleted = session->volume().DeleteBranch(options.name);
  if (deleted.code() == ENOENT && options.force) deleted = Ok();
  AGENTFS_TRY(context.Explain("branch", options.name, std::move(deleted)));
  AGENTFS_TRY(session->Close());
  if (context.json) AGENTFS_TRY(context.PrintJson({{"deleted", {options.name}}}));
  return kDone;
}

}  // namespace agentfs::cli
