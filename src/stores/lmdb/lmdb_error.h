// SPDX-License-Identifier: Apache-2.0
//
// LMDB's errors as ours.
#pragma once

#include <string_view>

#include "agentfs/result.h"

namespace agentfs {

// "cannot WHAT 'FILE': why", with what to do where there is something to do.
Error LmdbError(int code, std::string_view what, std::string_view file);

}  // namespace agentfs
