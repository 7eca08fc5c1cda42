// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "sys/fd.h"

namespace agentfs::fuse::test {

// While it lives, everybody may open /dev/fuse, as is usual; then its mode is what it was. One at a
// time in all processes.
class DeviceForEverybody {
 public:
  DeviceForEverybody();
  ~DeviceForEverybody();

 private:
  Fd lock_;
  mode_t before_;
};

}  // namespace agentfs::fuse::test
