// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "adapters/control/client.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/server/start.h"

namespace agentfs::cli {

using Json = nlohmann::ordered_json;

Result<int> RunBranchBind(Context& context, const BindOptions& options) {
  AGENTFS_ASSIGN(Workspace workspace, LocateWorkspace(context));
  AGENTFS_ASSIGN(auto client, ConnectOrStart(workspace));
  AGENTFS_ASSIGN(
      const Json bound,
      client.Call("branch.bind", {{"name", options.name}, {"pid", options.pid}}, options.path));
  if (bound.contains("stale_directory")) {
    context.Notice(fmt::format(
        "agentfs: process {} is in {} and sees there what was before, until it changes to it anew",
        options.pid, bound["stale_directory"].get<std::string>()));
  }
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(bound));
  } else if (!context.quiet) {
    AGENTFS_TRY(
        context.Print(fmt::format("{} processes see branch {} at {}\n", bound["processes"].size(),
                                  options.name, bound["path"].get<std::string>())));
  }
  return kDone;
}

}  // namespace agentfs::cli
