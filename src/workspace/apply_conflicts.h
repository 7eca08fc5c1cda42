// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "agentfs/result.h"
#include "workspace/apply.h"

namespace agentfs {

// Whether the base, at this path, is what the branch has seen.
Result<std::optional<ApplyConflict>> FindConflict(const Views& views, const PathChange& change);

// What both sides together make of a text that both have changed; none: it cannot be said. Needs
// what the base had when the branch changed it, which small text files keep.
Result<std::optional<std::string>> MergeChange(const Views& views, const PathChange& change);

}  // namespace agentfs
