// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace agentfs {

inline constexpr int kMaxJsonDepth = 500;

// Whether a JSON text has arrays and objects nested more than kMaxJsonDepth deep. To be asked
// before such a text of somebody else's is parsed: who prints or destroys what is parsed goes down
// its levels on the stack. Of what is no JSON it says anything.
bool IsJsonTooDeep(std::string_view text);

}  // namespace agentfs
