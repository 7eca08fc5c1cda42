// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "agentfs/result.h"

namespace agentfs::cli {

// A time that a person or a program says: seconds since 1970, perhaps with a fraction, or
// "2025-01-31T12:00:00.5Z" or "2025-01-31" (UTC). Nanoseconds since 1970; EINVAL.
Result<int64_t> ParseTimeArgument(const std::string& text);

}  // namespace agentfs::cli
