// SPDX-License-Identifier: Apache-2.0
//
// mcp: the protocol server on stdio. The session runs in the workspace's server, with the client's
// streams, so that any number of them, and mounts and commands beside, work on the same views.
#include <unistd.h>

#include "adapters/mcp/session.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/mcp_host.h"
#include "cli/open_workspace.h"
#include "cli/path_arguments.h"
#include "cli/server/forward.h"
#include "cli/server/start.h"

namespace agentfs::cli {
namespace {

// As `run` does: a branch that is missing is made.
Result<void> EnsureBranch(OpenWorkspace& workspace, const std::string& branch) {
  if (IsBranch(workspace.volume(), branch)) return Ok();
  auto made = workspace.operations().CreateBranch(branch, kMainBranch);
  if (!made.ok() && made.code() != EEXIST) return made.error().WithContext("branch " + branch);
  return Ok();
}

// Commands that the session runs are to have this process's environment, not the server's.
std::vector<std::string> SessionCommand(const McpCommand& command) {
  std::vector<std::string> words = {"mcp-session", "--branch", command.branch};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    words.push_back("--env=" + std::string(*variable));
  }
  return words;
}

}  // namespace

Result<int> RunMcp(Context& context, const McpCommand& command) {
  AGENTFS_ASSIGN(const Workspace workspace, LocateWorkspace(context));
  AGENTFS_ASSIGN(auto client, ConnectOrStart(workspace));
  auto status = ForwardOver(context, client, SessionCommand(command), STDOUT_FILENO);
  if (status.code() == ECONNRESET) {
    return Error(EIO, "the workspace's server ended", "start 'agentfs mcp' again");
  }
  return status;
}

Result<int> RunMcpSession(Context& context, const McpCommand& command) {
  if (context.live == nullptr) return Error(EINVAL, "mcp-session runs in a server");
  AGENTFS_TRY(EnsureBranch(*context.live, command.branch));
  McpHost host(context, command.environment);
  {
    AGENTFS_ASSIGN(auto branch, mcp::OpenBranchView(host, command.branch));
    const Streams& streams = context.console->streams();
    mcp::LineChannel channel({streams.in, streams.out, streams.client}, mcp::kMaxLine);
    mcp::Session session(host, channel, AGENTFS_VERSION, std::move(branch));
    session.Run();
  }
  AGENTFS_TRY(context.live->volume().Flush(Durability::kSynced));
  return kDone;
}

}  // namespace agentfs::cli
