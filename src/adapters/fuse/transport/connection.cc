// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/connection.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "adapters/fuse/transport/uring_switch.h"

namespace agentfs::fuse {
namespace {

constexpr int kReadAheadKib = 512;

// What is read in order is asked for in larger pieces than the 128 KiB that the kernel gives FUSE.
// Needs root; without it reading works as well, a little slower.
void RaiseReadAhead(uint32_t connection) {
  const std::string setting = fmt::format("/sys/class/bdi/0:{}/read_ahead_kb", connection);
  const Fd file(::open(setting.c_str(), O_RDWR | O_CLOEXEC));
  char now[32] = {};
  if (!file || ::read(file.get(), now, sizeof now - 1) <= 0) return;
  if (std::atoi(now) >= kReadAheadKib) return;
  const std::string wanted = std::to_string(kReadAheadKib);
  (void)!::write(file.get(), wanted.data(), wanted.size());
}

}  // namespace

Result<Connection> Connect(const std::string& mount_point, const MountOptions& options,
                           Wanted wanted) {
  std::optional<UringSwitch> rings;  // on until INIT is answered
  if (wanted.features.Has(Feature::kOverIoUring)) {
    rings.emplace(UringSwitch::TurnOn());
    if (!rings->on()) wanted.features = wanted.features.Without(Feature::kOverIoUring);
  }
  AGENTFS_ASSIGN(MountPoint point, MountPoint::Mount(mount_point, options));
  AGENTFS_ASSIGN(const Capabilities agreed, Negotiate(point.device(), wanted));
  RaiseReadAhead(point.connection());
  return Connection{std::move(point), agreed};
}

}  // namespace agentfs::fuse
