// SPDX-License-Identifier: Apache-2.0
//
// Runs a command in a sandbox as if it ran bare: the same streams, terminal, process group and
// signals, and its exit status.
#pragma once

#include "agentfs/result.h"
#include "exec/sandbox_process.h"

namespace agentfs {

// Waits for the command; the value is its exit status, 128 + signal, 126 or 127. An error means
// that it was not started: EPERM, with what bubblewrap says. Stops and continues together with the
// command, and gives the terminal back. The process must have one thread.
Result<int> RunSandboxed(const SandboxedCommand& command);

}  // namespace agentfs
