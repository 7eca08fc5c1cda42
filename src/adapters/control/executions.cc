// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/executions.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "adapters/control/operations.h"
#include "agentfs/approvals.h"
#include "agentfs/files.h"
#include "agentfs/op_log.h"
#include "exec/inner_program.h"
#include "workspace/changes.h"
#include "workspace/checkpoint.h"

namespace agentfs::control {
namespace {

using policy::Action;

// Of an answer, which must fit into a message.
constexpr size_t kMaxChangedFiles = 10'000;
constexpr size_t kMaxPathBytes = 2 << 20;
constexpr size_t kMaxDenials = 100;

ExecStart StartOf(const ExecutionBegin& begin, uint32_t uid) {
  const ExecutionRequest& request = begin.request;
  ExecStart start;
  start.kind = exec_kinds::kExec;
  start.shell = request.shell.has_value();
  start.command = request.shell ? std::vector<std::string>{*request.shell} : request.argv;
  start.directory = request.cwd;
  start.branch = request.branch;
  start.action = policy::ActionName(begin.decision.action);
  start.rule = begin.decision.rule;
  start.reason = begin.decision.reason;
  start.uid = uid;
  start.label = request.label;
  return start;
}

std::optional<uint64_t> SizeOf(const Found& found) {
  if (!found.node) return std::nullopt;
  return found.attr.size;
}

ChangedFile ChangedFileOf(const PathChange& change) {
  ChangedFile file;
  file.kind = static_cast<ChangedFile::Kind>(change.kind);
  file.path = change.path;
  file.old_path = change.old_path;
  file.size_before = SizeOf(change.before);
  file.size_after = SizeOf(change.after);
  return file;
}

void Fill(ExecutionSummary& summary, const std::vector<PathChange>& changes) {
  size_t bytes = 0;
  for (const PathChange& change : changes) {
    // Programs' caches and histories are in the branch, too; they are not the workspace's.
    if (change.path.starts_with(kHostPrefix)) {
      ++summary.changed_outside;
      continue;
    }
    ++summary.changed_files_total;
    bytes += change.path.size() + change.old_path.size();
    if (summary.changed_files.size() < kMaxChangedFiles && bytes <= kMaxPathBytes) {
      summary.changed_files.push_back(ChangedFileOf(change));
    }
  }
}

}  // namespace

Result<void> Executions::CheckCwd(const ExecutionRequest& request) {
  if (request.cwd == "/") return Ok();
  auto view = OpenRef(operations_.volume(), request.branch);
  if (view.code() == ENOENT) view = OpenRef(operations_.volume(), kMainBranch);
  if (!view.ok()) return view.error();
  const auto entry = Files(*view).Entry(request.cwd, FollowLinks::kYes);
  if (!entry.ok()) return Error(ENOENT, "cwd: " + request.cwd + ": " + entry.error().message());
  if (!S_ISDIR(entry->attr.mode)) {
    return Error(ENOTDIR, "cwd: " + request.cwd + " is not a directory");
  }
  return Ok();
}

Result<std::string> Executions::KeepPrefix(uint64_t exec) const {
  if (outputs_.empty()) return std::string();
  if (::mkdir(outputs_.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoError();
  return outputs_ + "/" + std::to_string(exec);
}

// Made once for all commands: it is larger than all else that a command costs.
std::string Executions::InnerProgram() {
  absl::MutexLock lock(&mu_);
  if (!inner_) {
    auto opened = OpenInnerProgram();
    if (!opened.ok()) return "";
    inner_ = std::move(*opened);
  }
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(inner_.get());
}

Result<ExecutionBegun> Executions::Begin(const ExecutionBegin& begin, const ExecutionPeer& peer) {
  {
    absl::MutexLock lock(&mu_);
    if (live_.contains(peer.connection)) return Error(EBUSY, "the connection runs a command");
  }
  AGENTFS_TRY(CheckCwd(begin.request));
  ExecStart start = StartOf(begin, peer.uid);
  RunRequest run;
  run.branch = begin.request.branch;
  run.command = CommandText(start);
  run.pid = peer.pid;
  run.connection = peer.connection;
  run.what = CheckpointFor::kExec;
  run.hidden = begin.hidden;
  // Whose point it may be is not known before it is noted.
  absl::ReaderMutexLock beginning(&points_mu_);
  AGENTFS_ASSIGN(const RunState state, operations_.BeginRun(std::move(run)));
  auto begun = Record(begin, peer, state, std::move(start));
  if (!begun.ok()) operations_.EndRun(peer.connection);
  return begun;
}

Result<ExecutionBegun> Executions::Record(const ExecutionBegin& begin, const ExecutionPeer& peer,
                                          const RunState& state, ExecStart start) {
  start.snapshot = state.checkpoint_number;
  ExecutionBegun begun;
  Live live;
  AGENTFS_ASSIGN(live.exec, BeginExecRecord(operations_.volume(), start));
  begun.exec = live.exec.id;
  AGENTFS_ASSIGN(begun.keep_prefix, KeepPrefix(begun.exec));
  operations_.NoteExec(peer.connection, begun.exec);
  begun.place = {state.branch, state.session, state.namespaces_of, begun.exec, InnerProgram()};
  live.branch = state.branch;
  live.point = state.checkpoint;
  live.taken = state.checkpoint_taken;
  live.always = begin.request.checkpoint == CheckpointMode::kAlways ||
                (begin.decision.action != Action::kAllow && !begin.request.read_only);
  live.keep_nothing = begin.request.checkpoint == CheckpointMode::kNever;
  absl::MutexLock lock(&mu_);
  live_[peer.connection] = std::move(live);
  return begun;
}

// Unless another command is compared with it, too.
void Executions::DropPoint(const Live& live) {
  absl::MutexLock dropping(&points_mu_);
  absl::MutexLock lock(&mu_);
  const bool shared = std::any_of(live_.begin(), live_.end(), [&](const auto& other) {
    return other.second.point == live.point;
  });
  if (live.taken && !shared) (void)operations_.volume().DeleteSnapshot(live.point);
}

Result<void> Executions::AddOperations(const ExecRecord& exec, ExecutionSummary& summary) {
  if (operations_.volume().GetAuditLevel() == AuditLevel::kOff) return Ok();
  AGENTFS_ASSIGN(const OpSummary ops,
                 SummarizeOps(operations_.volume(), exec.id, exec.start_ns, kMaxDenials));
  for (const auto& [kind, count] : ops.counts) {
    summary.operations.push_back({std::string(OpName(kind)), count});
  }
  for (const OpSummary::Denied& denied : ops.denied) {
    summary.denials.push_back({std::string(OpName(denied.kind)), denied.path});
  }
  return Ok();
}

Result<ExecutionSummary> Executions::End(const ExecutionEnd& end, uint64_t connection) {
  Live live;
  {
    absl::MutexLock lock(&mu_);
    const auto it = live_.find(connection);
    if (it == live_.end()) return Error(ENOENT, "the connection runs no command");
    live = it->second;
  }
  ExecutionSummary summary;
  auto changes = FindChanges(operations_.volume(), live.point, live.branch, ChangeScope::kAll);
  if (changes.ok()) Fill(summary, *changes);
  AGENTFS_TRY(AddOperations(live.exec, summary));
  {
    absl::MutexLock lock(&mu_);
    live_.erase(connection);
  }
  operations_.EndRun(connection);
  const bool lost = changes.code() == ENOENT;  // somebody has deleted the point
  const bool changed = !changes.ok() || !changes->empty();
  if (!lost && !live.keep_nothing && (live.always || changed)) {
    summary.checkpoint = live.point;
  } else {
    DropPoint(live);
  }
  ExecEnd ended;
  ended.status = end.status;
  ended.signal = end.signal;
  ended.details = end.details;
  AGENTFS_TRY(EndExec(operations_.volume(), live.exec, ended));
  if (!changes.ok() && !lost) return changes.error();
  return summary;
}

Result<uint64_t> Executions::Refuse(const ExecutionBegin& begin, const ExecutionPeer& peer) {
  return RecordExec(operations_.volume(), StartOf(begin, peer.uid), {.status = kExecRefused});
}

void Executions::Abandon(uint64_t connection) {
  Live live;
  {
    absl::MutexLock lock(&mu_);
    const auto it = live_.find(connection);
    if (it == live_.end()) return;
    live = it->second;
    live_.erase(it);
  }
  operations_.EndRun(connection);
  (void)EndExec(operations_.volume(), live.exec, {.status = kExecLost});
}

Result<std::string> Executions::KeepApproval(const std::string& request,
                                             const ExecutionPeer& peer) {
  return agentfs::KeepApproval(operations_.volume(), peer.uid, request);
}

Result<std::string> Executions::TakeApproval(const std::string& id, const ExecutionPeer& peer) {
  absl::MutexLock lock(&approvals_mu_);
  return agentfs::TakeApproval(operations_.volume(), peer.uid, id);
}

// ---- for this process

LocalExecutionHost::LocalExecutionHost(Executions& executions, const Workspace& workspace,
                                       uint32_t uid)
    : executions_(executions),
      workspace_(workspace),
      peer_{uid, static_cast<uint32_t>(::getpid()), executions.NewConnection()} {}

LocalExecutionHost::~LocalExecutionHost() { executions_.Abandon(peer_.connection); }

Result<ExecutionBegun> LocalExecutionHost::Begin(const ExecutionBegin& begin) {
  AGENTFS_ASSIGN(ExecutionBegun begun, executions_.Begin(begin, peer_));
  // Where the session is in a namespace of its own, that is this process's already.
  begun.place.namespaces_of = 0;
  return begun;
}

Result<ExecutionSummary> LocalExecutionHost::End(const ExecutionEnd& end) {
  return executions_.End(end, peer_.connection);
}

Result<uint64_t> LocalExecutionHost::Refuse(const ExecutionBegin& begin) {
  return executions_.Refuse(begin, peer_);
}

Result<std::string> LocalExecutionHost::KeepApproval(const std::string& request) {
  return executions_.KeepApproval(request, peer_);
}

Result<std::string> LocalExecutionHost::TakeApproval(const std::string& id) {
  return executions_.TakeApproval(id, peer_);
}

}  // namespace agentfs::control
