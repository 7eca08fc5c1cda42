// SPDX-License-Identifier: Apache-2.0
//
// Long output of commands, kept in files named by their exec: 12.stdout, 12.stderr.
#pragma once

#include <cstdint>
#include <string>

#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "workspace/workspace.h"

namespace agentfs {

enum class OutputOf : uint8_t { kOut, kErr };

// Where the output of an exec is, if it is in a file.
std::string KeptOutput(const Layout& layout, uint64_t exec, OutputOf stream);

// Removes what belongs to no exec any more; the bytes.
Result<uint64_t> RemoveLostOutputs(Volume& volume, const Layout& layout);

}  // namespace agentfs
