// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "agentfs/filesystem.h"

namespace agentfs::mcp {

// The view without what is reserved in its root: ".agentfs", below which the host's own files are.
// It cannot be found, also not through a symbolic link, nor made.
std::shared_ptr<FileSystem> Confine(std::shared_ptr<FileSystem> view);

}  // namespace agentfs::mcp
