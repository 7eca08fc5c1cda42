// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agentfs/result.h"
#include "agentfs/types.h"

namespace agentfs {

// Space and files of the host filesystem that holds `path`.
Result<FsStats> HostFsStats(const std::string& path);

}  // namespace agentfs
