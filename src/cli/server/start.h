// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "adapters/control/client.h"
#include "agentfs/result.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// A connection to the workspace's server, which is started if there is none: a process of its own,
// detached from this one's terminal, streams and directory. Errors are what kept it from starting.
Result<control::ControlClient> ConnectOrStart(const Workspace& workspace);

}  // namespace agentfs::cli
