// SPDX-License-Identifier: Apache-2.0
//
// A sandbox as a process: bubblewrap, started with a plan and with our own process 1 inside.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "exec/sandbox_plan.h"
#include "exec/signals.h"
#include "sys/fd.h"

namespace agentfs {

struct SandboxedCommand {
  std::string bubblewrap;     // the program
  std::string inner_program;  // where process 1 is to be had (inner_program.h); empty: nowhere yet
  SandboxPlan plan;
  std::vector<std::string> command;      // not empty
  std::vector<std::string> environment;  // "NAME=value", besides what it inherits
  // What it inherits; none: this process's own environment.
  std::optional<std::vector<std::string>> inherited;
  std::string directory;  // where it starts, if that is there inside
  std::string fallback;   // where it starts else
};

struct SandboxStart {
  // What the command gets; -1: this process's own.
  int in = -1, out = -1, err = -1;
  bool own_session = false;  // apart from this process's terminal
  SignalState signals;       // what the command finds
};

// The child and our ends of what leads to it. Whoever has one waits for the child.
struct SandboxProcess {
  pid_t pid = 0;
  Fd channel;  // SandboxMessages; its end is the end of all that is inside
  Fd words;    // what bubblewrap says of its own; does not block

  // Thread-safe. The child has this thread's signal mask.
  static Result<SandboxProcess> Start(const SandboxedCommand& command, const SandboxStart& start);
  // Why the sandbox could not be had; `status` is bubblewrap's.
  Error Failure(int status) const;
};

}  // namespace agentfs
