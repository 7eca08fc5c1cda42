// SPDX-License-Identifier: Apache-2.0
//
// What a server leaves behind when it is killed, and cleaning it up.
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// Remembers the server's mount points; none: removes the record.
Result<void> SaveMountRecord(const Layout& layout, const std::vector<std::string>& points);

// Adds one, for who has saved the others.
Result<void> AddToMountRecord(const Layout& layout, const std::string& point);

// Removes the dead mounts and the socket of a server that is gone. The caller holds the workspace's
// lock, so whatever is recorded is dead, or dying with its process.
Result<void> CleanUpAfterServer(const Layout& layout);

}  // namespace agentfs::cli
