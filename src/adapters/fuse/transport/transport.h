// SPDX-License-Identifier: Apache-2.0
//
// Carries requests from the kernel to a Handler, and its answers back. This folder
// (agentfs_fuse_transport) is everything below the dispatcher: mount_point.h mounts, negotiate.h
// agrees with the kernel, a Transport serves, notifier.h tells the kernel what has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "adapters/fuse/exchange.h"
#include "adapters/fuse/transport/negotiate.h"
#include "agentfs/result.h"

namespace agentfs::fuse {

// Serves from when it is made until the filesystem is unmounted or it is stopped. All functions
// may be called by any thread that is not one of its own. The device and the handler must outlive
// it. An answer may leave only when the handler returns, so it must not wait for anything behind
// it.
class Transport {
 public:
  struct Statistics {
    uint64_t requests = 0;
    // Answers that the kernel did not take: wrong in size or form. The caller saw EIO. Over
    // io_uring the kernel does not tell.
    uint64_t rejected = 0;
    uint64_t followed = 0;  // requests that were served next to their client (client_follower.h)
    size_t threads = 0;     // of the device: there are more when all handle requests
  };

  virtual ~Transport() = default;  // stops it, as Stop does

  // Returns when all its threads have ended: the filesystem is unmounted and nobody uses it any
  // more, its connection was aborted, or Stop was called.
  virtual void Wait() = 0;
  // Ends its threads, mounted or not; requests that have arrived are answered first. The kernel
  // ends those that have not when the device is closed. Uses SIGURG, whose handler it installs.
  virtual void Stop() = 0;

  virtual std::string_view name() const = 0;  // "device" or "io_uring"
  virtual Statistics statistics() const = 0;
};

// Whether a lone client is served next to it (client_follower.h), if that is possible.
enum class Following { kIfPossible, kNever };

struct TransportOptions {
  // Threads of the device to begin with; of io_uring: threads of each processor. 0: as is best.
  size_t threads = 0;
  Following following = Following::kIfPossible;
};

// Starts what was negotiated: io_uring if the rings can be registered with the kernel, else
// threads that read the device. `device` stays the caller's.
Result<std::unique_ptr<Transport>> StartTransport(int device, const Capabilities& capabilities,
                                                  Handler& handler,
                                                  const TransportOptions& options = {});

}  // namespace agentfs::fuse
