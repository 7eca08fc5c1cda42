// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agentfs/result.h"
#include "agentfs/types.h"

namespace agentfs {

// Space and files of the host filesystem that holds `path`, or the open `fd` (O_PATH will do).
Result<FsStats> HostFsStats(const std::string& path);
Result<FsStats> HostFsStats(int fd);
// Without what only root may take: of ext4 a few more per cent, of btrfs nothing that holds data.
inline uint64_t AvailableBytes(const FsStats& disk) {
  return disk.blocks_available * disk.block_size;
}

}  // namespace agentfs
