// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "agentfs/result.h"

namespace agentfs {

// Whether content may be an index of git's.
bool LooksLikeGitIndex(std::string_view beginning);

// Whether two indexes of git's say the same of the same paths: mode, object, stage and flags. What
// they have cached of files' times and places does not count. False, too, if one cannot be read.
Result<bool> SameGitIndex(std::string_view a, std::string_view b);

}  // namespace agentfs
