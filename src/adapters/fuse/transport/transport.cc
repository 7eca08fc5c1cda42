// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/transport.h"

#include "adapters/fuse/transport/device_transport.h"
#include "adapters/fuse/transport/uring_transport.h"

namespace agentfs::fuse {
namespace {

// One to handle a request and one to wait for the next; more come when all are busy.
constexpr size_t kFirstThreads = 2;

size_t DeviceThreads(const TransportOptions& options) {
  return options.threads != 0 ? options.threads : kFirstThreads;
}

}  // namespace

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
