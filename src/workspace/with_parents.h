// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workspace/changes.h"

namespace agentfs {

// What was selected of all changes, and the directories above it that come with them: it cannot be
// there without these. Sorted by path.
std::vector<PathChange> WithParents(const std::vector<PathChange>& all,
                                    std::vector<PathChange> selected);

}  // namespace agentfs
