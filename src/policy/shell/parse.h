// SPDX-License-Identifier: Apache-2.0
//
// Bash's grammar, for finding the commands of a text. Pure; ends in time proportional to the text;
// what is nested too deeply or takes too many steps is an error.
#pragma once

#include <string_view>

#include "agentfs/result.h"
#include "policy/shell/syntax.h"

namespace agentfs::shell {

inline constexpr size_t kMaxTextBytes = 1 << 20;
inline constexpr int kMaxDepth = 64;

// EINVAL, with what is wrong and where, for what is no complete script.
Result<Script> ParseScript(std::string_view text);

}  // namespace agentfs::shell
