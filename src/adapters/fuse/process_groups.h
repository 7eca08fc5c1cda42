// SPDX-License-Identifier: Apache-2.0
//
// The supplementary groups of the process that a request comes from, which requests do not carry.
#pragma once

#include <cstdint>

#include "agentfs/types.h"

namespace agentfs::fuse {

// Reads /proc: slow, and needed only where a set-gid bit depends on it. A process that has gone, or
// that we cannot see, has no groups.
class ProcessGroups final : public GroupSource {
 public:
  bool IsMember(const Caller& caller, uint32_t group) const override;
};

}  // namespace agentfs::fuse
