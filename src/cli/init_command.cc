// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "agentfs/stores.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/server/lock_or_server.h"

namespace agentfs::cli {
namespace {

// Without a base the root directory has no owner to take over: it belongs to who made it.
Result<void> OwnRoot(const Context& context, OpenWorkspace& workspace) {
  AGENTFS_ASSIGN(auto view, workspace.volume().OpenBranch(kMainBranch));
  NodeRef root = view->Root();
  AttrChange change;
  change.uid = context.identity.uid;
  change.gid = context.identity.gid;
  AGENTFS_TRY(view->SetAttr(Caller{}, *root, change));
  return Ok();
}

Result<void> Tell(const Context& context, const Workspace& workspace, bool created) {
  const Layout& layout = workspace.layout;
  if (context.json) {
    nlohmann::ordered_json out = {{"workspace", layout.root}, {"created", created}};
    if (layout.base.empty()) {
      out["base"] = nullptr;
    } else {
      out["base"] = layout.base;
    }
    out["database"] = layout.database;
    return context.PrintJson(out);
  }
  if (context.quiet) return Ok();
  return context.Print((created ? "Made a workspace: " : "Already a workspace, left as it is: ") +
                       layout.root + "\n");
}

struct Made {
  Workspace workspace;
  bool created = false;
};

Result<Made> Make(const Context& context, const InitOptions& options) {
  auto workspace = PrepareWorkspace(options);
  if (!workspace.ok()) return workspace.error().WithContext("init");
  AGENTFS_ASSIGN(auto lock, LockOrFindServer(*workspace));
  if (!lock) {  // what has a server is there already
    ::unlink(workspace->layout.making.c_str());
    return Made{*workspace, false};
  }
  AGENTFS_ASSIGN(auto open, OpenWorkspace::Open(*workspace, std::move(*lock), Missing::kCreate));
  if (open->created() && workspace->layout.base.empty()) AGENTFS_TRY(OwnRoot(context, *open));
  AGENTFS_TRY(open->Close());
  return Made{*workspace, open->created()};
}

}  // namespace

Result<Workspace> InitWorkspace(const Context& context, const InitOptions& options) {
  AGENTFS_ASSIGN(Made made, Make(context, options));
  return std::move(made.workspace);
}

Result<int> RunInit(Context& context, const InitOptions& asked) {
  InitOptions options = asked;
  if (options.bare.empty() && options.directory.empty()) options.directory = ".";
  AGENTFS_ASSIGN(const Made made, Make(context, options));
  AGENTFS_TRY(Tell(context, made.workspace, made.created));
  return kDone;
}

Result<int> RunVersion(Context& context) {
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(
        {{"version", AGENTFS_VERSION}, {"schema_version", VolumeSchema().version}}));
  } else {
    AGENTFS_TRY(context.Print("agentfs " AGENTFS_VERSION "\n"));
  }
  return kDone;
}

}  // namespace agentfs::cli
