// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of one mount, without the text of all of them (Linux 6.8). Where it cannot
// be asked the table has to be read (mount_table.h): every function fails with ENOSYS then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agentfs/result.h"

namespace agentfs {

struct MountFacts {
  uint64_t lasting_id = 0;  // which no other mount ever gets
  uint64_t id = 0;          // as in the table of mounts
  uint32_t minor = 0;       // of the device number of its files
  std::string type;         // "ext4", "fuse.agentfs"
};

// The mount that is visible at a directory; empty: the directory is none's root. Asks no server, so
// that it tells of dead ones too.
Result<std::optional<MountFacts>> AskForMountAt(const std::string& path);

// Whether a mount is still where this process can see mounts.
Result<bool> AskWhetherMounted(uint64_t lasting_id);

}  // namespace agentfs
