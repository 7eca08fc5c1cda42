// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

// A file without a name that holds `content` in memory, for libraries that only read files.
Result<Fd> MakeMemoryFile(std::string_view content);

}  // namespace agentfs
