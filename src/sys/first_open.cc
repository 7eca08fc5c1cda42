// SPDX-License-Identifier: Apache-2.0
#include "sys/first_open.h"

#include <fcntl.h>
#include <unistd.h>

namespace agentfs {

void OpenFirst(const std::string& view) {
  // A snapshot's mount has no such file, and nothing is created there.
  const int file = ::open((view + "/.agentfs/control").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0) ::close(file);
}

}  // namespace agentfs
