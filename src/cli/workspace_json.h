// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "workspace/workspace.h"

namespace agentfs::cli {

// Adds what the workspace is: its place, base, files and limits.
void DescribeWorkspace(const Workspace& workspace, nlohmann::ordered_json& status);

}  // namespace agentfs::cli
