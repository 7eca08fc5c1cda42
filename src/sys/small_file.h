// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agentfs/result.h"

namespace agentfs {

// All of a file that a person wrote, such as a configuration. EFBIG: more than a mebibyte.
Result<std::string> ReadSmallFile(const std::string& file);

}  // namespace agentfs
