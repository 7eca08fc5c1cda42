// SPDX-License-Identifier: Apache-2.0
//
// The grammar of the command line. The only place that knows the parser, which is slow to compile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace agentfs::cli {

// Reads the arguments (without the program's name) into `context`, whose command is then what they
// ask for. Prints help, the version or what is wrong itself, and gives the exit status then.
std::optional<int> ParseCommandLine(std::vector<std::string> arguments, Context& context);

}  // namespace agentfs::cli
