// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/transport.h"

#include <algorithm>
#include <thread>

#include "adapters/fuse/transport/device_transport.h"

namespace agentfs::fuse {
namespace {

size_t DeviceThreads(const TransportOptions& options) {
  if (options.threads != 0) return options.threads;
  return std::max<size_t>(8, 2 * std::thread::hardware_concurrency());
}

}  // namespace

Result<std::unique_ptr<Transport>> StartTransport(int device, const Capabilities& capabilities,
                                                  Handler& handler,
                                                  const TransportOptions& options) {
  return DeviceTransport::Start(device, capabilities, handler, DeviceThreads(options));
}

}  // namespace agentfs::fuse
