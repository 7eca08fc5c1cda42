// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "sys/fd.h"

namespace agentfs::fuse::test {

// While it lives, /dev/fuse has this mode; then the one it had. One at a time in all processes, so
// that no test sees what another has set.
class DeviceMode {
 public:
  static constexpr mode_t kEverybody = 0666;  // As is usual.
  static constexpr mode_t kRootAlone = 0600;

  explicit DeviceMode(mode_t mode);
  ~DeviceMode();

 private:
  Fd lock_;
  mode_t before_;
};

}  // namespace agentfs::fuse::test
