// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agentfs/types.h"

namespace agentfs {

// "2025-01-31T12:00:00.000000001Z", for programs.
std::string FormatTime(Timestamp time);

}  // namespace agentfs
