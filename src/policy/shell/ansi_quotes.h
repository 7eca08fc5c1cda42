// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace agentfs::shell {

// What $'...' stands for: escapes as in C, \cX, and \u with UTF-8. It ends at a NUL, as bash's
// does.
std::string DecodeAnsiQuotes(std::string_view text);

}  // namespace agentfs::shell
