// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

// The program that is process 1 inside, as a file in memory that nobody can change; where such
// files may not be executed, this program itself, which can be it too (kInnerCommand). `made` is
// where another process of ours has it, so that it need not be made again; empty: nowhere.
Result<Fd> OpenInnerProgram(const std::string& made = {});

}  // namespace agentfs
