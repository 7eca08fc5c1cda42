// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/transport.h"

#include <fcntl.h>

#include <cerrno>

#include "adapters/fuse/transport/device_transport.h"
#include "adapters/fuse/transport/uring_transport.h"
#include "sys/fd.h"

namespace agentfs::fuse {
namespace {

// One to handle a request and one to wait for the next; more come when all are busy.
constexpr size_t kFirstThreads = 2;

size_t DeviceThreads(const TransportOptions& options) {
  return options.threads != 0 ? options.threads : kFirstThreads;
}

}  // namespace

bool UringIsAvailable() {
  auto parameter = OpenAt(AT_FDCWD, "/sys/module/fuse/parameters/enable_uring", O_RDONLY);
  char enabled = 'N';
  if (!parameter.ok() || !ReadAt(parameter->get(), 0, std::span(&enabled, 1)).ok()) return false;
  return enabled == 'Y' && CanMakeRings();
}

Result<std::unique_ptr<Transport>> StartTransport(int device, const Capabilities& capabilities,
                                                  Handler& handler,
                                                  const TransportOptions& options) {
  if (capabilities.Has(Feature::kOverIoUring)) {
    auto rings =
        UringTransport::Start(device, capabilities, handler, options.threads, options.following);
    if (rings.ok()) return rings;
  }
  return DeviceTransport::Start(device, capabilities, handler, DeviceThreads(options),
                                options.following);
}

}  // namespace agentfs::fuse
