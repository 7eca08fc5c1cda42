// SPDX-License-Identifier: Apache-2.0
#include "sys/nested_process.h"

#include <fstream>
#include <sstream>
#include <string>

namespace agentfs {

bool IsInNestedNamespace(uint32_t pid) {
  if (pid == 0) return false;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    // Its number in each namespace from this one down to its own.
    std::istringstream numbers(line.substr(sizeof("NSpid:") - 1));
    int count = 0;
    for (uint32_t each; numbers >> each;) ++count;
    return count != 1;
  }
  return true;
}

}  // namespace agentfs
