// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace agentfs::cli {

// Bytes for a cell of a table: what would move the cursor, or more, is shown as in C.
std::string OneLine(std::string_view text);

}  // namespace agentfs::cli
