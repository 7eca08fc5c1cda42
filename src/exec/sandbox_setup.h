// SPDX-License-Identifier: Apache-2.0
//
// The sandbox of a command on a branch of a workspace, as `run` and `exec` have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "exec/sandbox_process.h"
#include "workspace/workspace.h"

namespace agentfs {

// Where the branch is to be had.
struct BranchPlace {
  std::string branch;
  std::string session;             // the directory with branches/NAME and host/NAME
  uint32_t namespaces_of = 0;      // not 0: a process whose namespaces have to be joined to see it
  uint64_t exec = 0;               // whose operations there are
  std::string inner_program = {};  // SandboxedCommand
  std::vector<std::string> absent = {};  // what the session's views leave out
};

struct SandboxWish {
  std::vector<std::string> command;
  std::vector<std::string> environment;               // besides what every sandboxed command gets
  std::optional<std::vector<std::string>> inherited;  // SandboxedCommand
  SandboxRules rules;     // ResolveRules; they win over the workspace's own
  std::string directory;  // on the host; where it is not visible, the workspace
  bool read_only = false;
};

// EOPNOTSUPP: this is inside a sandbox already. `what` is who asks: "run".
Result<void> CheckOutsideOfSandbox(const std::string& what);
// EOPNOTSUPP: the workspace has no directory that a command could find it at.
Result<void> CheckHasBase(const std::string& what, const Workspace& workspace);

// As people write them: "~", links and relative paths are resolved. What is hidden is the name and
// what it leads to.
SandboxRules ResolveRules(SandboxRules rules);

// What the session must leave out of its views for who has these rules (absolute paths).
std::vector<std::string> HiddenInViews(const Workspace& workspace, const SandboxRules& rules);

// Everything for starting it. Joins other namespaces if it must: then this process must have one
// thread.
Result<SandboxedCommand> SetUpSandbox(const Workspace& workspace, const BranchPlace& place,
                                      const std::string& bubblewrap, const SandboxWish& wish);

}  // namespace agentfs
