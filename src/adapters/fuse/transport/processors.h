// SPDX-License-Identifier: Apache-2.0
//
// Which processors there are.
#pragma once

#include <string_view>
#include <vector>

namespace agentfs::fuse {

struct Processors {
  std::vector<int> possible;  // may ever run; the kernel has a FUSE queue for each
  std::vector<int> online;    // run now
};
Processors ReadProcessors();

// "0-3,8": 0 1 2 3 8. Empty if it is no such list.
std::vector<int> ParseProcessorList(std::string_view text);

}  // namespace agentfs::fuse
