// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "adapters/control/executions.h"
#include "agentfs/agent_state.h"
#include "agentfs/exec_log.h"
#include "base/clock.h"
#include "cli/command_line.h"
#include "cli/open_workspace.h"
#include "cli/own_program.h"
#include "exec/execute.h"
#include "sys/fd.h"
#include "sys/process_tracker.h"

namespace agentfs::cli {
namespace {

constexpr uint64_t kCollectAfter = 1000;

// Takes what a command writes; a command knows streams, not strings.
Result<Fd> MemoryFile(const char* name) {
  Fd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file) return ErrnoError();
  return file;
}

std::string ContentOf(const Fd& file) {
  std::string text(static_cast<size_t>(std::max<off_t>(0, ::lseek(file.get(), 0, SEEK_END))), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n =
        ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

// A command that does not run in servers (it reads the database's file, which would take the locks
// of this process away) gets a process of its own.
int RunForStreams(const Context& client, std::vector<std::string> arguments, const Streams& streams,
                  std::stop_token stop) {
  Context context;
  context.console = std::make_shared<Console>(streams);
  context.identity = client.identity;
  context.directory = client.directory;
  context.live = client.live;
  if (auto status = ParseCommandLine(arguments, context)) return *status;
  if (context.place == Place::kServer) return context.Run();
  arguments.insert(arguments.begin(), {"--workspace", client.live->workspace().layout.root});
  const auto status = RunOwnProgram(arguments, streams, std::move(stop));
  return status.ok() ? *status : context.Report(status.error());
}

}  // namespace

std::string McpHost::Directory() const {
  const std::string& base = context_.live->workspace().layout.base;
  return base.empty() ? "/" : base;
}

Result<std::shared_ptr<FileSystem>> McpHost::OpenBranch(const std::string& branch) {
  AGENTFS_TRY(context_.live->permissions().Refresh());
  AGENTFS_ASSIGN(auto view, context_.live->volume().OpenBranch(branch));
  struct Watched {
    std::shared_ptr<FileSystem> view;
    std::shared_ptr<void> watch;
  };
  auto watched = std::make_shared<Watched>();
  watched->view = std::move(view);
  watched->watch = context_.live->WatchBranch(branch, watched->view);
  watched->view = context_.live->permissions().Guard(std::move(watched->view));
  FileSystem* const fs = watched->view.get();
  return std::shared_ptr<FileSystem>(std::move(watched), fs);
}

mcp::CommandOutput McpHost::Run(const std::vector<std::string>& arguments, std::stop_token stop) {
  mcp::CommandOutput output;
  output.status = kFailed;
  auto out = MemoryFile("mcp-out"), err = MemoryFile("mcp-err");
  auto null = OpenAt(AT_FDCWD, "/dev/null", O_RDONLY);
  if (!out.ok() || !err.ok() || !null.ok()) {
    output.err = "there are no descriptors left";
    return output;
  }
  output.status = RunForStreams(context_, arguments,
                                Streams{null->get(), out->get(), err->get(), -1}, std::move(stop));
  output.out = ContentOf(*out);
  output.err = ContentOf(*err);
  return output;
}

ExecutionEnvelope McpHost::Execute(const ExecutionRequest& request, std::stop_token stop) {
  control::LocalExecutionHost host(*context_.live->executions(), context_.live->workspace(),
                                   context_.identity.uid);
  ExecutionOptions options;
  options.stop = std::move(stop);
  options.environment = environment_;
  return agentfs::Execute(request, host, options);
}

// 0: there is no way back to before the call; what cannot be had does not keep it from happening.
uint64_t McpHost::TakeCheckpoint(const mcp::CallRecord& call) {
  const auto taken =
      context_.live->operations().TakeCheckpoint(call.branch, CheckpointFor::kTool, call.edits);
  if (!taken.ok()) return 0;
  // Those that were pruned have left layers, which hold what was overwritten long ago.
  const bool many = taken->taken && ++checkpoints_ % kCollectAfter == 0;
  if (many) (void)context_.live->volume().CollectGarbage();
  return taken->snapshot.number;
}

// What cannot be noted does not keep a call from happening, as with commands.
uint64_t McpHost::BeginCall(const mcp::CallRecord& call) {
  ExecStart start;
  start.kind = exec_kinds::kMcp;
  start.command = {call.tool, call.parameters};
  start.directory = "/";
  start.branch = call.branch;
  start.uid = context_.identity.uid;
  if (!call.edits.empty()) start.snapshot = TakeCheckpoint(call);
  const auto id = BeginExec(context_.live->volume(), start);
  if (!id.ok()) return 0;
  OpProcess process;
  process.exec = *id;
  process.pid = context_.identity.pid;
  process.uid = context_.identity.uid;
  process.comm = "agentfs mcp";
  process.level = context_.live->volume().GetAuditLevel();
  ProcessTracker::ActAs(std::make_shared<const OpProcess>(std::move(process)));
  return *id;
}

void McpHost::EndCall(const mcp::CallRecord& call) {
  ProcessTracker::ActAs(nullptr);
  Volume& volume = context_.live->volume();
  if (call.is_own_exec && call.exec != 0) {
    ExecEnd end;
    end.status = call.error.empty() ? 0 : 1;
    (void)EndExec(volume, call.exec, end);
  }
  ToolCall row;
  row.name = call.tool;
  row.parameters = call.parameters;
  if (!call.result.empty()) row.result = call.result;
  row.error = call.error;
  row.started_ns = call.started_ns;
  row.completed_ns = std::max(call.started_ns, ToNanoseconds(Now()));
  row.exec = call.exec;
  (void)RecordToolCall(volume, row);
}

void McpHost::Settle() { context_.live->Settle(); }
void McpHost::Publish() { context_.live->Publish(); }

}  // namespace agentfs::cli
