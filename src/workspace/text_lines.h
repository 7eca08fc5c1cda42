// SPDX-License-Identifier: Apache-2.0
//
// Comparing and merging text by lines, by libgit2.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agentfs/result.h"

namespace agentfs {

enum class PatchLine : uint8_t { kHeader, kHunk, kContext, kAdded, kRemoved, kBinary };

// Takes the text of a patch: whole lines, or parts of them; what is given as one kind is of it.
using PatchSink = std::function<Result<void>(PatchLine kind, std::string_view text)>;

// Gives the hunks that lead from `before` to `after`, as in a unified patch with three lines of
// context. ENOMEM, or the sink's error.
Result<void> DiffLines(std::string_view before, std::string_view after, const PatchSink& sink);

// Whether git would call it binary.
bool LooksBinary(std::string_view beginning);

// What both sides have made of `ancestor`, together; none where both have changed the same lines.
Result<std::optional<std::string>> MergeLines(std::string_view ancestor, std::string_view ours,
                                              std::string_view theirs);

}  // namespace agentfs
