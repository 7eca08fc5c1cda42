// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "agentfs/result.h"

namespace agentfs {

// Whether there is a moment, within a fraction of a millisecond, at which the kernel waits for no
// answer on a FUSE connection (the minor device number of its mount): everything that it was to
// send before the call has been answered then. False also where the kernel cannot be asked: it
// takes the control filesystem of FUSE at its usual place, or root.
bool AwaitNoFuseRequest(uint32_t connection);

}  // namespace agentfs
