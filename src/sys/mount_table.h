// SPDX-License-Identifier: Apache-2.0
//
// What is mounted, as a process's mount namespace sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs {

struct MountEntry {
  uint64_t id = 0;
  uint32_t major = 0;  // of the device number of its files
  uint32_t minor = 0;
  std::string root;    // the directory of the filesystem that is seen at the point
  std::string point;   // absolute, as bytes
  std::string type;    // "ext4", "fuse.agentfs"
  std::string source;  // what mount(8) shows first
};

// Of this process, or of another that it may look into. In the order of mounting: of several on one
// point the last one is visible. What is mounted all the while is in it, whatever else changes
// meanwhile.
Result<std::vector<MountEntry>> ReadMountTable();
Result<std::vector<MountEntry>> ReadMountTableOf(uint32_t pid);
// The same from the text of a mountinfo file; lines that are none are left out.
std::vector<MountEntry> ParseMountInfo(std::string_view text);

// Empty: there is none.
Result<std::optional<MountEntry>> TopMountAt(const std::string& point);
Result<std::optional<MountEntry>> MountWithId(uint64_t id);

}  // namespace agentfs
