// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agentfs/base_fs.h"

namespace agentfs {

// `inner` with the host's root at ".agentfs/host", which can be reached by name and is not listed:
// so what is outside of the workspace can be changed in a branch too. `covered` are absolute host
// paths that are empty directories there: the workspace, our own state, what is no plain directory.
Result<std::unique_ptr<BaseFs>> OpenBaseWithHost(std::unique_ptr<BaseFs> inner,
                                                 std::vector<std::string> covered);

}  // namespace agentfs
