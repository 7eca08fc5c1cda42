// SPDX-License-Identifier: Apache-2.0
//
// What the protocol server asks of the process that it is in.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "agentfs/types.h"
#include "exec/envelope.h"
#include "exec/request.h"

namespace agentfs::mcp {

// What a command line of ours has said.
struct CommandOutput {
  int status = 0;
  std::string out, err;
};

// A call of a tool, for those who ask later what was done.
struct CallRecord {
  std::string tool, branch;
  std::string parameters;   // JSON, with long texts cut
  std::string edits;        // what of the branch it changes, in words; empty: nothing
  std::string result;       // the same; empty: it failed
  std::string error;        // empty: it succeeded
  int64_t started_ns = 0;   // since 1970
  uint64_t exec = 0;        // that it is; 0: it is none
  bool is_own_exec = true;  // of BeginCall; else somebody else has begun and ended it
};

// Thread-safe.
class Host {
 public:
  virtual ~Host() = default;

  // Where clients believe the files to be: the workspace's directory; "/" if it has none.
  virtual std::string Directory() const = 0;
  // On whose behalf. Valid while the host lives.
  virtual Caller AsCaller() const = 0;
  // The view of a branch, for reading and writing. ENOENT: there is no such branch.
  virtual Result<std::shared_ptr<FileSystem>> OpenBranch(const std::string& branch) = 0;
  // Runs a command line (`agentfs` not among the arguments) on the workspace. One that takes long
  // ends when `stop` is triggered.
  virtual CommandOutput Run(const std::vector<std::string>& arguments, std::stop_token stop) = 0;
  // Runs a command in a sandbox; `stop` ends it.
  virtual ExecutionEnvelope Execute(const ExecutionRequest& request, std::stop_token stop) = 0;
  // A call begins, and ends on the same thread: the exec that it is, to which what is done
  // meanwhile belongs; 0: it could not be noted. What it edits can be undone.
  virtual uint64_t BeginCall(const CallRecord& call) = 0;
  // It has ended.
  virtual void EndCall(const CallRecord& call) = 0;
  // What programs have written through mounts is in the views when this returns.
  virtual void Settle() = 0;
  // What was changed in views shows in the mounts when this returns.
  virtual void Publish() = 0;
};

}  // namespace agentfs::mcp
