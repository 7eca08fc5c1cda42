// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "cli/console.h"

namespace agentfs::cli {

// Runs a command line of ours in a process of its own, with these streams and this process's
// environment: what must not be done in a server. The exit status, 128 + signal as a shell has it.
// ECANCELED: `stop` was triggered, and the process is gone.
Result<int> RunOwnProgram(const std::vector<std::string>& arguments, const Streams& streams,
                          std::stop_token stop);

}  // namespace agentfs::cli
