// SPDX-License-Identifier: Apache-2.0
//
// The first and the last lines of a file, without reading the rest.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "agentfs/files.h"
#include "agentfs/result.h"

namespace agentfs::mcp {

// The lines are separated by "\n", and the last one ends without. A line end at the end of the file
// ends its last line, and begins no other. ECANCELED; EFBIG: more than 64 MiB.
Result<std::string> FirstLines(const Files& files, const std::string& path, uint64_t count,
                               std::stop_token stop);
Result<std::string> LastLines(const Files& files, const std::string& path, uint64_t count,
                              std::stop_token stop);

}  // namespace agentfs::mcp
