// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace agentfs {

// An extended attribute that is neither listed nor set by anybody, but can be read: the path in the
// base, a zero byte, and what the base had there when the branch replaced it.
inline constexpr std::string_view kOriginalXattr = "agentfs.original";

}  // namespace agentfs
