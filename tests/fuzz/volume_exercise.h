// SPDX-License-Identifier: Apache-2.0
//
// What is done with a volume that may be damaged.
#pragma once

#include "agentfs/volume.h"

namespace agentfs {

// Puts some of everything into an empty volume: files, links, xattrs, a snapshot, a second branch.
void FillVolume(Volume& volume);

// Reads all that it shows, checks and repairs it, changes a little, closes it. Any of this may
// fail, but nothing may crash or hang; and what was repaired is in order.
void ExerciseVolume(Volume& volume);

}  // namespace agentfs
