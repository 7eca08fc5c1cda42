// SPDX-License-Identifier: Apache-2.0
//
// What the protocol server asks of the process that it is in.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "agentfs/types.h"

namespace agentfs::mcp {

// What a command line of ours has said.
struct CommandOutput {
  int status = 0;
  std::string out, err;
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
  // What programs have written through mounts is in the views when this returns.
  virtual void Settle() = 0;
  // What was changed in views shows in the mounts when this returns.
  virtual void Publish() = 0;
};

}  // namespace agentfs::mcp
