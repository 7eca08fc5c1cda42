// SPDX-License-Identifier: Apache-2.0
//
// A mounted filesystem whose kernel side has been agreed with and waits to be served.
#pragma once

#include <string>

#include "adapters/fuse/transport/mount_point.h"
#include "adapters/fuse/transport/negotiate.h"

namespace agentfs::fuse {

struct Connection {
  MountPoint point;
  Capabilities agreed;
};

// Mounts and negotiates. kOverIoUring is agreed on only where rings can be made and the kernel's
// switch is on or can be turned (uring_switch.h). Where that is allowed the kernel is told to read
// further ahead than it does for FUSE by itself. Errors as of MountPoint::Mount and Negotiate.
Result<Connection> Connect(const std::string& mount_point, const MountOptions& options,
                           Wanted wanted);

}  // namespace agentfs::fuse
