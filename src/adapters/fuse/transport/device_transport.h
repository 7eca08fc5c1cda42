// SPDX-License-Identifier: Apache-2.0
//
// Requests read from /dev/fuse.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/fuse/transport/client_follower.h"
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
  // that share a gate take turns in waiting; the one that leaves nobody waiting calls `all_busy`
  // before it handles its request. `follower` may be null.
  void Serve(Handler& handler, const WorkerThreads& threads, ReaderGate& gate,
             ClientFollower* follower, const std::function<void()>& all_busy);

  Transport::Statistics statistics() const;  // any thread

 private:
  DeviceChannel(Fd clone, int device, PageBuffer request, PageBuffer answer)
      : clone_(std::move(clone)),
        device_(clone_ ? clone_.get() : device),
        request_(std::move(request)),
        answer_(std::move(answer)) {}
  bool ServeOne(Handler& handler, ReaderGate& gate, ClientFollower* follower,
                const std::function<void()>& all_busy);
  void Approach(ReaderGate& gate);
  bool LeaveGate(ReaderGate& gate);
  void HandleOne(Handler& handler, ReaderGate& gate, std::span<const char> request);

  Fd clone_;
  int device_;
  PageBuffer request_;
  PageBuffer answer_;
  ClientFollower::Seat seat_;
  bool at_gate_ = false;  // approaches it, or is in
  bool in_gate_ = false;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> rejected_ = 0;
};

// Several threads, each with a channel; each handles what it has read before it reads again. When
// all do, another is started, up to kMostThreads: requests that wait for a slow disk stall nobody.
// One that has answered does not count, even if it has no processor yet to read again.
class DeviceTransport : public Transport {
 public:
  static constexpr size_t kMostThreads = 64;  // fewer where the process may open few files

  static Result<std::unique_ptr<Transport>> Start(int device, const Capabilities& capabilities,
                                                  Handler& handler, size_t threads,
                                                  Following following);
  DeviceTransport(int device, const Capabilities& capabilities, Handler& handler)
      : device_(device), capabilities_(capabilities), handler_(handler) {}
  ~DeviceTransport() override { DeviceTransport::Stop(); }

  void Wait() override { threads_.Wait(); }
  void Stop() override {
    if (follower_ != nullptr) follower_->Stop();
    threads_.Stop();
  }
  std::string_view name() const override { return "device"; }
  Statistics statistics() const override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static size_t MostThreads(size_t first);
  Result<void> AddThread() ABSL_LOCKS_EXCLUDED(mu_);
  void AddThreadIfPossible() noexcept ABSL_LOCKS_EXCLUDED(mu_);

  const int device_;
  const Capabilities capabilities_;
  Handler& handler_;
  size_t most_threads_ = kMostThreads;  // set before the first thread starts
  mutable absl::Mutex mu_;
  std::vector<std::unique_ptr<DeviceChannel>> channels_ ABSL_GUARDED_BY(mu_);
  ReaderGate gate_;
  std::unique_ptr<ClientFollower> follower_;  // null: not possible here
  WorkerThreads threads_;                     // last: they use the others
};

}  // namespace agentfs::fuse
