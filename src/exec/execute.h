// SPDX-License-Identifier: Apache-2.0
//
// The execution boundary: a request in, an envelope out. Validate, decide, checkpoint, run in the
// sandbox, find what changed, record.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "exec/capture.h"
#include "exec/envelope.h"
#include "exec/request.h"
#include "exec/sandbox_setup.h"
#include "policy/decision.h"
#include "workspace/workspace.h"

namespace agentfs {

// What whoever holds the workspace is told before a command runs, ...
struct ExecutionBegin {
  const ExecutionRequest& request;
  const policy::ExecutionDecision& decision;
  std::vector<std::string> hidden = {};  // what the view must leave out
};
struct ExecutionBegun {
  uint64_t exec = 0;  // its id
  BranchPlace place;
  std::string keep_prefix;  // CaptureOptions
};
// ... after it, ...
struct ExecutionEnd {
  int status = 0;       // as a shell has it
  int signal = 0;       // 0: it was none
  std::string details;  // JSON, kept with it
};
// ... and what it answers then.
struct ExecutionSummary {
  std::string checkpoint;  // empty: none was kept
  std::vector<ChangedFile> changed_files;
  uint64_t changed_files_total = 0, changed_outside = 0;
  std::vector<OperationCount> operations;
  std::vector<ExecutionDenial> denials;
};

// Whoever holds the workspace. One object serves one request at a time; what was begun ends with it
// at the latest. control::ExecutionClient is it for processes that the workspace's server is
// another process of.
class ExecutionHost {
 public:
  virtual ~ExecutionHost() = default;

  virtual const Workspace& workspace() const = 0;
  // The branch, a point to compare with, the view. ENOTDIR or ENOENT, with nothing made: cwd.
  virtual Result<ExecutionBegun> Begin(const ExecutionBegin& begin) = 0;
  virtual Result<ExecutionSummary> End(const ExecutionEnd& end) = 0;
  // Remembers that it was refused; the id.
  virtual Result<uint64_t> Refuse(const ExecutionBegin& begin) = 0;
  // Keeps a request for the one time that it may be run; the id.
  virtual Result<std::string> KeepApproval(const std::string& request) = 0;
  // The request, which nobody can take a second time. ENOENT: there is none; EALREADY: it was
  // taken; EPERM: it is another user's.
  virtual Result<std::string> TakeApproval(const std::string& id) = 0;
};

struct ExecutionOptions {
  // Asked where the policy wants a person's word: true runs it. Null: there is nobody to ask.
  std::function<bool(const policy::ExecutionDecision&, const std::string& command)> ask;
  std::stop_token stop;  // ends the command
  std::function<void(OutputStream, std::string_view)> tee;
  // "NAME=value", in place of this process's own environment, for who asks for another process.
  std::optional<std::vector<std::string>> environment;
};

// Never throws, never fails: what goes wrong is in the envelope. Any number at a time, each with a
// host of its own.
ExecutionEnvelope Execute(const ExecutionRequest& request, ExecutionHost& host,
                          const ExecutionOptions& options = {});

// Runs the request that waits for approval under this id.
ExecutionEnvelope ExecuteApproved(const std::string& approval_id, ExecutionHost& host,
                                  const ExecutionOptions& options = {});

}  // namespace agentfs
