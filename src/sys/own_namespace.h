// SPDX-License-Identifier: Apache-2.0
//
// A user and mount namespace of a process's own, in which it may mount without privilege, and
// joining that of another process of the same user.
#pragma once

#include <cstdint>

#include "agentfs/result.h"

namespace agentfs {

// From now on this process, which must have one thread, sees the mounts as they are and may add
// some that nobody else sees. It stays the user that it was. EPERM: users may not have namespaces
// here.
Result<void> EnterOwnNamespace();
// Whether that was done.
bool IsInOwnNamespace();

// This process, which must have one thread, sees from now on what `pid` sees; its current directory
// stays, by its path.
Result<void> JoinNamespacesOf(uint32_t pid);

}  // namespace agentfs
