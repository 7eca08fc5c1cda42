// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "adapters/control/json.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {

using Json = nlohmann::ordered_json;

Result<int> RunBranchCreate(Context& context, const BranchOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  AGENTFS_ASSIGN(BranchInfo branch,
                 context.Explain("branch", options.name,
                                 session->operations().CreateBranch(options.name, options.from)));
  const Json json = control::BranchJson(session->volume(), branch);
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(json));
  } else {
    AGENTFS_TRY(context.Print(branch.name + "\n"));
  }
  return kDone;
}

Result<int> RunBranchList(Context& context, const BranchOptions&) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  const auto branches = session->volume().ListBranches();
  const Json json = control::BranchesJson(session->volume());
  AGENTFS_TRY(session->Close());
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < branches.size() && i < json.size(); ++i) {
    const Json& on = json[i]["on"];
    rows.push_back({branches[i].name, on.is_null() ? "-" : on.get<std::string>(),
                    FormatLocalTime(branches[i].created), branches[i].in_use ? "yes" : "no"});
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
  auto deleted = session->operations().DeleteBranch(options.name);
  if (deleted.code() == ENOENT && options.force) deleted = Ok();
  AGENTFS_TRY(context.Explain("branch", options.name, std::move(deleted)));
  AGENTFS_TRY(session->Close());
  if (context.json) AGENTFS_TRY(context.PrintJson({{"deleted", {options.name}}}));
  return kDone;
}

}  // namespace agentfs::cli
