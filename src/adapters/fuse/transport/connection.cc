// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/connection.h"

#include <optional>
#include <utility>

#include "adapters/fuse/transport/uring_switch.h"

namespace agentfs::fuse {

Result<Connection> Connect(const std::string& mount_point, const MountOptions& options,
                           Wanted wanted) {
  std::optional<UringSwitch> rings;  // on until INIT is answered
  if (wanted.features.Has(Feature::kOverIoUring)) {
    rings.emplace(UringSwitch::TurnOn());
    if (!rings->on()) wanted.features = wanted.features.Without(Feature::kOverIoUring);
  }
  AGENTFS_ASSIGN(MountPoint point, MountPoint::Mount(mount_point, options));
  AGENTFS_ASSIGN(const Capabilities agreed, Negotiate(point.device(), wanted));
  return Connection{std::move(point), agreed};
}

}  // namespace agentfs::fuse
