// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agentfs/types.h"

namespace agentfs::cli {

// Who runs a command.
struct Identity {
  uint32_t uid = 0, gid = 0, pid = 0;
  uint32_t umask = 022;
  std::vector<uint32_t> groups;

  static Identity OfThisProcess();
  // Valid while this lives.
  Caller AsCaller() const { return {uid, gid, groups, umask, pid}; }
};

}  // namespace agentfs::cli
