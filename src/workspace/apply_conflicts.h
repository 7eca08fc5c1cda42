// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "workspace/apply.h"
#include "workspace/cut_moves.h"

namespace agentfs {

// Whether the base, at this path, is what the branch has seen.
Result<std::optional<ApplyConflict>> FindConflict(const Views& views, const PathChange& change);

// The moves that `changes`, a part of the branch's, would tear apart; each once.
std::vector<ApplyConflict> FindCutMoves(const CutMoves& cut,
                                        const std::vector<PathChange>& changes);

// Whether the base's file says what it said when the branch saw it, though it was written or
// touched since: nothing is lost if the branch's takes its place. So of text, and of an index of
// git's, which `git status` refreshes. Needs what the base had, as MergeChange.
Result<bool> SaysTheSame(const Views& views, const PathChange& change);

// Those of the paths whose files of the base say what the snapshot's do, whatever was done to them.
Result<std::vector<std::string>> FindSame(const Views& base_and_snapshot,
                                          const std::vector<std::string>& paths);

// What both sides together make of a text that both have changed; none: it cannot be said. Needs
// what the base had when the branch changed it, which small text files keep.
Result<std::optional<std::string>> MergeChange(const Views& views, const PathChange& change);

}  // namespace agentfs
