// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "agentfs/result.h"
#include "workspace/apply.h"

namespace agentfs {

// Whether the base, at this path, is what the branch has seen.
Result<std::optional<ApplyConflict>> FindConflict(const Views& views, const PathChange& change);

// Whether the base's file, an index of git's, was only refreshed since the branch saw it, as `git
// status` does: nothing is lost if the branch's takes its place.
Result<bool> IsRefreshedGitIndex(const Views& views, const PathChange& change);

// What both sides together make of a text that both have changed; none: it cannot be said. Needs
// what the base had when the branch changed it, which small text files keep.
Result<std::optional<std::string>> MergeChange(const Views& views, const PathChange& change);

}  // namespace agentfs
