// SPDX-License-Identifier: Apache-2.0
//
// What is mounted, as this process's mount namespace sees it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs {

struct MountEntry {
  std::string point;   // absolute, as bytes
  std::string type;    // "ext4", "fuse.agentfs"
  std::string source;  // what mount(8) shows first
};

// In the order of mounting: of several on one point the last one is visible.
Result<std::vector<MountEntry>> ReadMountTable();
// The same from the text of a mountinfo file; lines that are none are left out.
std::vector<MountEntry> ParseMountInfo(std::string_view text);

}  // namespace agentfs
