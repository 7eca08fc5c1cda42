// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

// The program that is process 1 inside, as a file in memory; where such files may not be executed,
// this program itself, which can be it too (kInnerCommand).
Result<Fd> OpenInnerProgram();

}  // namespace agentfs
