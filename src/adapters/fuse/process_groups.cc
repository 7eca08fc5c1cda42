// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/process_groups.h"

#include <fstream>
#include <sstream>
#include <string>

namespace agentfs::fuse {

bool ProcessGroups::IsMember(const Caller& caller, uint32_t group) const {
  if (caller.pid == 0) return false;
  std::ifstream status("/proc/" + std::to_string(caller.pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Groups:")) continue;
    std::istringstream groups(line.substr(7));
    for (uint32_t member = 0; groups >> member;) {
      if (member == group) return true;
    }
    return false;
  }
  return false;
}

}  // namespace agentfs::fuse
