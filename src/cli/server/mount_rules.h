// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agentfs/result.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// Whether a view may be mounted at `point` (absolute, without links). EINVAL where it would hide
// the workspace's own state, or where the base would show it, and so itself without end. ENOENT,
// ENOTDIR; EBUSY if a view is mounted there already. A dead mount there is removed.
Result<void> PrepareMountPoint(const Layout& layout, const std::string& point);

}  // namespace agentfs::cli
