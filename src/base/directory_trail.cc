// SPDX-License-Identifier: Apache-2.0
#include "agentfs/directory_trail.h"

#include <string>

namespace agentfs {

Error DirectoryBelowItself(std::string_view path) {
  return Error(ELOOP, "'" + std::string(path) + "' is a directory below itself: it is damaged",
               "run `agentfs fsck --repair`");
}

Result<void> DirectoryTrail::Enter(NodeId directory, std::string_view path) {
  if (entered_.insert(directory.value).second) return Ok();
  return DirectoryBelowItself(path);
}

}  // namespace agentfs
