// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace agentfs {

// Whether a process lives in a process namespace below this one's, as those in a sandbox do. One
// that cannot be looked at counts as such; 0, a process of a namespace above, does not.
bool IsInNestedNamespace(uint32_t pid);

}  // namespace agentfs
