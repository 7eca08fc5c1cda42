// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "agentfs/result.h"
#include "workspace/text_lines.h"

namespace agentfs {

// Gives the content in pieces, in order, to `take`.
using ContentReader =
    std::function<Result<void>(const std::function<Result<void>(std::string_view)>& take)>;

// One side of a "GIT binary patch": the content, deflated, in base 85. Of the content only a piece
// at a time is in memory.
Result<void> WriteBinaryLiteral(uint64_t size, const ContentReader& read, const PatchSink& sink);

}  // namespace agentfs
