// SPDX-License-Identifier: Apache-2.0
//
// The parts of a sparse file that hold data.
#pragma once

#include <cstdint>
#include <functional>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"

namespace agentfs {

struct Extent {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// Calls `visit` for the extents of data within the first `size` bytes, in order; its error ends it.
Result<void> ForEachExtent(FileSystem& fs, Node& node, uint64_t size,
                           const std::function<Result<void>(Extent)>& visit);

}  // namespace agentfs
