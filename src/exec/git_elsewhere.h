// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace agentfs {

// The repository of a linked worktree or a submodule, which git keeps elsewhere: what the `.git`
// file of the directory leads to, absolute, and as a whole where several worktrees share it. Empty:
// there is no such file, or it leads to no repository.
std::string GitElsewhere(const std::string& directory);

}  // namespace agentfs
