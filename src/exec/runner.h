// SPDX-License-Identifier: Apache-2.0
//
// Runs a command in a sandbox as if it ran bare: the same streams, terminal, process group and
// signals, and its exit status.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "exec/sandbox_plan.h"

namespace agentfs {

struct SandboxedCommand {
  std::string bubblewrap;  // the program
  SandboxPlan plan;
  std::vector<std::string> command;      // not empty
  std::vector<std::string> environment;  // "NAME=value", besides this process's own
  std::string directory;                 // where it starts, if that is there inside
  std::string fallback;                  // where it starts else
};

// Waits for the command; the value is its exit status, 128 + signal, 126 or 127. An error means
// that it was not started: EPERM, with what bubblewrap says. Stops and continues together with the
// command, and gives the terminal back. The process must have one thread.
Result<int> RunSandboxed(const SandboxedCommand& command);

}  // namespace agentfs
