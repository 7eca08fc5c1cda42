// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace agentfs {

// Well-formed UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing past U+10FFFF.
bool IsValidUtf8(std::string_view text);

}  // namespace agentfs
