// SPDX-License-Identifier: Apache-2.0
//
// A whole workspace in one database, which needs neither its base nor its objects.
#pragma once

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

// Copies the base, every snapshot with a name of its own and every branch of `from` into `to`: a
// new volume, opened with fill_base. Snapshots and branches keep their names, and share what they
// had in common; "base" is what the base of `from` is now. Snapshots get new ids, and those without
// a name are left out. What is outside of the workspace (kHostPrefix) is not taken along. `from`
// may change meanwhile, its base better not: EBUSY if content does.
Result<void> PackVolume(Volume& from, Volume& to);

}  // namespace agentfs
