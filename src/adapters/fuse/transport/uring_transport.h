// SPDX-License-Identifier: Apache-2.0
//
// Requests over io_uring. The kernel has a queue for each processor and puts a request into the
// queue of the processor that makes it. Each entry of a queue has a thread of its own here, pinned
// to that processor, with a ring of its own: nothing is handed over, a blocked handler holds up
// only its own entry, and the kernel takes the entry that came back last, whose thread is warm.
#pragma once

#include <memory>
#include <vector>

#include "adapters/fuse/transport/device_transport.h"
#include "adapters/fuse/transport/processors.h"
#include "adapters/fuse/transport/transport.h"
#include "adapters/fuse/transport/uring_worker.h"
#include "adapters/fuse/transport/worker_threads.h"

namespace agentfs::fuse {

// The first entry of each queue, without which the kernel does not begin, and further ones.
struct UringPlan {
  std::vector<UringPlace> first;
  std::vector<UringPlace> further;
};
// Processors that are offline share one thread. threads_per_processor 0: chosen.
UringPlan PlanUring(const Processors& processors, size_t threads_per_processor);

class UringTransport : public Transport {
 public:
  // After an error the kernel has been told to use the device, unless the error is from that.
  static Result<std::unique_ptr<Transport>> Start(int device, const Capabilities& capabilities,
                                                  Handler& handler, size_t threads_per_processor,
                                                  Following following);
  ~UringTransport() override { UringTransport::Stop(); }

  void Wait() override { threads_.Wait(); }
  void Stop() override {
    if (follower_ != nullptr) follower_->Stop();
    threads_.Stop();
  }
  std::string_view name() const override { return "io_uring"; }
  Statistics statistics() const override;

 private:
  Result<void> MakeWorkers(int device, const Capabilities& capabilities, const UringPlan& plan);
  // Returns when all have tried. An error: a queue has no entry, so that the kernel does not begin.
  Result<void> StartWorkers(Handler& handler, size_t queues);

  // FORGET and INTERRUPT come through the device as ever.
  std::unique_ptr<DeviceChannel> reader_;
  ReaderGate gate_;
  std::unique_ptr<ClientFollower> follower_;  // null: not possible here
  std::vector<std::unique_ptr<UringWorker>> workers_;
  WorkerThreads threads_;
};

}  // namespace agentfs::fuse
