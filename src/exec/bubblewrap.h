// SPDX-License-Identifier: Apache-2.0
//
// Bubblewrap, which makes the sandbox: finding it, and what to tell it.
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "exec/sandbox_plan.h"

namespace agentfs {

// The program's path, as $PATH has it. EOPNOTSUPP, with the remedy, if there is none.
Result<std::string> FindBubblewrap();

// Its arguments for a plan, without its own name and the command. As root the command keeps the
// capabilities that concern files and users, and none by which it could leave.
std::vector<std::string> BubblewrapArguments(const SandboxPlan& plan);

// Makes an empty sandbox and ends it; EPERM, with what bubblewrap says and a remedy, if it cannot.
Result<void> TryBubblewrap(const std::string& program);

// What to do where bubblewrap fails with these words.
std::string RemedyForBubblewrap(const std::string& words);

}  // namespace agentfs
