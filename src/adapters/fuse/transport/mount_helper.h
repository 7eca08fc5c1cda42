// SPDX-License-Identifier: Apache-2.0
//
// fusermount3, the setuid program that mounts for ordinary users. It has ended, and no descriptor
// of it is left, when a function returns. Any thread.
#pragma once

#include <string>

#include "adapters/fuse/transport/mount_point.h"
#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::fuse {

// Whether it is installed.
bool HasMountHelper();

// The descriptor of /dev/fuse. ENOENT if the helper is not installed; else the error that its
// words stand for, with them as the message.
Result<Fd> MountWithHelper(const std::string& target, const MountOptions& options);

// `mode` kForced is as kLazy.
Result<void> UnmountWithHelper(const std::string& target, UnmountMode mode);

}  // namespace agentfs::fuse
