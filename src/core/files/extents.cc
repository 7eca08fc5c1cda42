// SPDX-License-Identifier: Apache-2.0
#include "core/files/extents.h"

#include <algorithm>

namespace agentfs {

Result<void> ForEachExtent(FileSystem& fs, Node& node, uint64_t size,
                           const std::function<Result<void>(Extent)>& visit) {
  for (uint64_t at = 0; at < size;) {
    Result<uint64_t> data = fs.Seek(node, at, SeekTarget::kData);
    if (data.code() == ENXIO) return Ok();
    if (!data.ok()) return std::move(data).error();
    if (*data >= size) return Ok();
    Result<uint64_t> hole = fs.Seek(node, *data, SeekTarget::kHole);
    if (!hole.ok() && hole.code() != ENXIO) return std::move(hole).error();
    uint64_t end = hole.ok() ? std::min(*hole, size) : size;
    if (end <= *data) return Error(EIO);  // a filesystem that contradicts itself
    AGENTFS_TRY(visit({*data, end - *data}));
    at = end;
  }
  return Ok();
}

}  // namespace agentfs
