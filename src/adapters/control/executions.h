// SPDX-License-Identifier: Apache-2.0
//
// The server's half of the execution boundary: branch, checkpoint and record before a command, what
// it changed after it. The client's half is exec/execute.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/exec_log.h"
#include "exec/execute.h"
#include "sys/fd.h"

namespace agentfs::control {

class Operations;
struct RunState;

// Who asks for an execution; it lives as long as this connection.
struct ExecutionPeer {
  uint32_t uid = 0, pid = 0;
  uint64_t connection = 0;
};

class LocalExecutionHost;

// Thread-safe. The operations must outlive it.
class Executions {
 public:
  // Long output is kept in `outputs`, a directory, made when it is needed; empty: nowhere.
  Executions(Operations& operations, std::string outputs)
      : operations_(operations), outputs_(std::move(outputs)) {}

  // ENOENT, ENOTDIR, with nothing made: the request's cwd. EBUSY: the connection has one already.
  Result<ExecutionBegun> Begin(const ExecutionBegin& begin, const ExecutionPeer& peer)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Of the connection's. ENOENT: it has none.
  Result<ExecutionSummary> End(const ExecutionEnd& end, uint64_t connection)
      ABSL_LOCKS_EXCLUDED(mu_);
  Result<uint64_t> Refuse(const ExecutionBegin& begin, const ExecutionPeer& peer);
  // Nobody is there any more to tell how it ended.
  void Abandon(uint64_t connection) ABSL_LOCKS_EXCLUDED(mu_);

  Result<std::string> KeepApproval(const std::string& request, const ExecutionPeer& peer);
  Result<std::string> TakeApproval(const std::string& id, const ExecutionPeer& peer)
      ABSL_LOCKS_EXCLUDED(approvals_mu_);

  // A number that no connection has, for who asks from this process.
  uint64_t NewConnection() { return --last_connection_; }

 private:
  struct Live {
    ExecRecord exec;
    std::string branch;
    std::string point;          // the snapshot to compare with
    bool taken = false;         // for this execution
    bool always = false;        // there is to be a way back, whatever it changes
    bool keep_nothing = false;  // there is to be none
  };

  Result<void> CheckCwd(const ExecutionRequest& request);
  // That a run has begun.
  Result<ExecutionBegun> Record(const ExecutionBegin& begin, const ExecutionPeer& peer,
                                const RunState& state, ExecStart start) ABSL_LOCKS_EXCLUDED(mu_);
  Result<std::string> KeepPrefix(uint64_t exec) const;
  // Where clients find it; empty: nowhere.
  std::string InnerProgram() ABSL_LOCKS_EXCLUDED(mu_);
  Result<void> AddOperations(const ExecRecord& exec, ExecutionSummary& summary);
  void DropPoint(const Live& live) ABSL_LOCKS_EXCLUDED(points_mu_, mu_);

  Operations& operations_;
  const std::string outputs_;
  // Shared while a point is found or taken, until it is noted; not while one is dropped. Before
  // mu_.
  absl::Mutex points_mu_;
  absl::Mutex mu_;
  std::map<uint64_t, Live> live_ ABSL_GUARDED_BY(mu_);  // by connection
  Fd inner_ ABSL_GUARDED_BY(mu_);                       // process 1 inside
  std::atomic<uint64_t> last_connection_ = 0;
  absl::Mutex approvals_mu_;  // one takes at a time
};

// The boundary for threads of the server itself: the command is a child of the server, and asked
// for by `uid`. One request at a time. What it is given must outlive it.
class LocalExecutionHost final : public ExecutionHost {
 public:
  LocalExecutionHost(Executions& executions, const Workspace& workspace, uint32_t uid);
  ~LocalExecutionHost() override;

  const Workspace& workspace() const override { return workspace_; }
  Result<ExecutionBegun> Begin(const ExecutionBegin& begin) override;
  Result<ExecutionSummary> End(const ExecutionEnd& end) override;
  Result<uint64_t> Refuse(const ExecutionBegin& begin) override;
  Result<std::string> KeepApproval(const std::string& request) override;
  Result<std::string> TakeApproval(const std::string& id) override;

 private:
  Executions& executions_;
  const Workspace& workspace_;
  const ExecutionPeer peer_;
};

}  // namespace agentfs::control
