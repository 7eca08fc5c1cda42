// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

#include "sys/fd.h"

namespace agentfs {

// The files of a filesystem that processes have mapped shared, each opened once for reading, as far
// as this process may look. A store to such a mapping reaches no filesystem by itself: an fsync of
// the file makes it.
std::vector<Fd> OpenSharedMappings(dev_t device);

}  // namespace agentfs
