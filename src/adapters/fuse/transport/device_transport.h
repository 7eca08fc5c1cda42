// SPDX-License-Identifier: Apache-2.0
//
// Requests read from /dev/fuse.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "adapters/fuse/transport/page_buffer.h"
#include "adapters/fuse/transport/reader_gate.h"
#include "adapters/fuse/transport/transport.h"
#include "adapters/fuse/transport/worker_threads.h"
#include "sys/fd.h"

namespace agentfs::fuse {

// One descriptor of the connection and one thread's buffers. Used by one thread.
class DeviceChannel {
 public:
  // A descriptor of its own where the kernel clones it, which keeps the answers of several threads
  // out of each other's way; else `device` itself.
  static Result<std::unique_ptr<DeviceChannel>> Open(int device, const Capabilities& capabilities);

  // Reads and handles requests until the filesystem is gone or `threads` are stopping. Channels
  // that share a gate take turns in waiting.
  void Serve(Handler& handler, const WorkerThreads& threads, ReaderGate& gate);

  Transport::Statistics statistics() const;  // any thread

 private:
  DeviceChannel(Fd clone, int device, PageBuffer request, PageBuffer answer)
      : clone_(std::move(clone)),
        device_(clone_ ? clone_.get() : device),
        request_(std::move(request)),
        answer_(std::move(answer)) {}
  ssize_t ReadOne(std::span<char> buffer, ReaderGate& gate);
  void HandleOne(Handler& handler, std::span<const char> request);

  Fd clone_;
  int device_;
  PageBuffer request_;
  PageBuffer answer_;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> rejected_ = 0;
};

// Several threads, each with a channel; each handles what it has read before it reads again.
class DeviceTransport : public Transport {
 public:
  static Result<std::unique_ptr<Transport>> Start(int device, const Capabilities& capabilities,
                                                  Handler& handler, size_t threads);
  ~DeviceTransport() override { threads_.Stop(); }

  void Wait() override { threads_.Wait(); }
  void Stop() override { threads_.Stop(); }
  std::string_view name() const override { return "device"; }
  Statistics statistics() const override;

 private:
  std::vector<std::unique_ptr<DeviceChannel>> channels_;
  ReaderGate gate_;
  WorkerThreads threads_;
};

}  // namespace agentfs::fuse
