// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/control/client.h"
#include "agentfs/result.h"
#include "cli/context.h"

namespace agentfs::cli {

// Has the workspace's server run the command line, with this process's streams, directory, umask
// and user; the exit status. None if there is no server: the command can run here. A signal ends
// this process at once; the server sees that and stops waiting for its streams.
Result<std::optional<int>> ForwardToServer(Context& context,
                                           const std::vector<std::string>& arguments);

// The same over a connection that there is; what the command prints goes to `out`.
Result<int> ForwardOver(const Context& context, control::ControlClient& client,
                        const std::vector<std::string>& arguments, int out);

}  // namespace agentfs::cli
