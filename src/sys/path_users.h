// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace agentfs {

struct PathUser {
  uint32_t pid = 0;
  std::string name;  // of its program
};

// Processes but this one whose current directory, root, program, open or mapped files are at or
// below the absolute `path`, as far as this process may look. Touches no file there.
std::vector<PathUser> FindPathUsers(const std::string& path);

}  // namespace agentfs
