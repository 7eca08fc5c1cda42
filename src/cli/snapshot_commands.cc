// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "adapters/control/json.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string IdOf(const SnapshotInfo& snapshot) { return "s" + std::to_string(snapshot.number); }

}  // namespace

Result<int> RunSnapshotCreate(Context& context, const SnapshotOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  const std::string branch = options.branch.empty() ? std::string(kMainBranch) : options.branch;
  const std::string what = "snapshot " + options.name + (options.name.empty() ? "" : " ") + "of";
  AGENTFS_ASSIGN(
      SnapshotInfo snapshot,
      context.Explain(what, branch,
                      session->operations().CreateSnapshot(branch, options.name, options.message)));
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(control::SnapshotJson(snapshot)));
  } else {
    AGENTFS_TRY(context.Print(snapshot.name + "\n"));
  }
  return kDone;
}

Result<int> RunSnapshotList(Context& context, const SnapshotOptions&) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  const auto snapshots = session->volume().ListSnapshots();
  AGENTFS_TRY(session->Close());
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const SnapshotInfo& snapshot : snapshots) {
    json.push_back(control::SnapshotJson(snapshot));
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

Result<int> RunSnapshotDelete(Context& context, const SnapshotOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  for (const std::string& name : options.names) {
    AGENTFS_TRY(context.Explain("snapshot", name, session->operations().DeleteSnapshot(name)));
  }
  AGENTFS_TRY(session->Close());
  if (context.json) AGENTFS_TRY(context.PrintJson({{"deleted", options.names}}));
  return kDone;
}

}  // namespace agentfs::cli
