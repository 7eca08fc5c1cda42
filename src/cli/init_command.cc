// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "agentfs/stores.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

// Without a base the root directory has no owner to take over: it belongs to who made it.
Result<void> OwnRoot(Session& session) {
  AGENTFS_ASSIGN(auto view, session.volume().OpenBranch(kMainBranch));
  const Caller user = CurrentCaller();
  NodeRef root = view->Root();
  AttrChange change;
  change.uid = user.uid;
  change.gid = user.gid;
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

Result<int> Init(const Context& context, InitOptions options) {
  if (options.bare.empty() && options.directory.empty()) options.directory = ".";
  auto workspace = PrepareWorkspace(options);
  if (!workspace.ok()) return workspace.error().WithContext("init");
  AGENTFS_ASSIGN(auto session, Session::OpenWorkspace(*workspace, Missing::kCreate));
  if (session->created() && workspace->layout.base.empty()) AGENTFS_TRY(OwnRoot(*session));
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(Tell(context, *workspace, session->created()));
  return kDone;
}

}  // namespace

void AddInit(CLI::App& app, Context& context) {
  CLI::App& init = AddCommand(app, "init", "Make a workspace over a directory",
                              "  agentfs init                        # here\n"
                              "  agentfs init ~/project --single-file\n"
                              "  agentfs init /usr/src --state ~/src.agentfs\n"
                              "  agentfs init --bare scratch.db      # without a base");
  auto options = std::make_shared<InitOptions>();
  auto* directory =
      init.add_option("DIR", options->directory, "The base (default: here)")->type_name("");
  auto* state = init.add_option("--state", options->state,
                                "Keep everything in STATE instead of DIR/.agentfs; "
                                "--workspace STATE opens it")
                    ->type_name("STATE");
  init.add_flag("--single-file", options->single_file, "Keep all content in the database");
  init.add_option("--bare", options->bare, "A workspace without a base in one file")
      ->type_name("FILE")
      ->excludes(directory)
      ->excludes(state);
  init.callback([&context, options] {
    context.command = [&context, options] { return Init(context, *options); };
  });
}

void AddVersion(CLI::App& app, Context& context) {
  CLI::App& version = AddCommand(app, "version", "Print the version", "");
  version.callback([&context] {
    context.command = [&context]() -> Result<int> {
      if (context.json) {
        AGENTFS_TRY(context.PrintJson(
            {{"version", AGENTFS_VERSION}, {"schema_version", VolumeSchema().version}}));
      } else {
        AGENTFS_TRY(context.Print("agentfs " AGENTFS_VERSION "\n"));
      }
      return kDone;
    };
  });
}

}  // namespace agentfs::cli
