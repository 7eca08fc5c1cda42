// SPDX-License-Identifier: Apache-2.0
//
// The mounts of this process' namespace, as /proc/self/mountinfo lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs::fuse {

struct MountEntry {
  uint64_t id = 0;
  uint32_t major = 0;  // of the device number of its files
  uint32_t minor = 0;
  std::string point;
  std::string type;  // "ext4", "fuse.agentfs"
  std::string source;
};

// In the order of the file: of several at one point the last is the one that is seen.
Result<std::vector<MountEntry>> ReadMountTable();
std::vector<MountEntry> ParseMountTable(std::string_view text);

std::optional<MountEntry> TopMountAt(const std::string& point);
std::optional<MountEntry> MountWithId(uint64_t id);

}  // namespace agentfs::fuse
