// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "agentfs/result.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// Waits for the workspace, as long as its configuration says: its lock, or none if a server has it.
// Else EBUSY, naming the holder.
Result<std::optional<WorkspaceLock>> LockOrFindServer(const Workspace& workspace);

}  // namespace agentfs::cli
