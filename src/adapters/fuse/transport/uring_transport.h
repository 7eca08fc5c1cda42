// SPDX-License-Identifier: Apache-2.0
//
// Requests over io_uring. The kernel has a queue for each processor and puts a request into the
// queue of the processor that makes it. Each entry of a queue has a thread of its own here, pinned
// to that processor, with a ring of its own: nothing is handed over, a blocked handler holds up
// only its own entry, and the kernel takes the entry that came back last, whose thread is warm.
// When few threads of a processor are left that do not handle a request, one more is started.
#pragma once

#include <sched.h>

#include <atomic>
#include <list>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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
  // A place that is served, and may get more threads.
  struct Lane : UringLane {
    UringPlace place;
    std::atomic<bool> grows{false};  // a thread is being added
    std::atomic<size_t> most{0};     // threads that it may come to
  };

  UringTransport(int device, const Capabilities& capabilities, Handler& handler);
  Result<UringWorker*> AddWorker(Lane& lane) ABSL_LOCKS_EXCLUDED(workers_mu_);
  Result<std::vector<UringWorker*>> MakeWorkers(const UringPlan& plan);
  // The body of a worker's thread. `tried` is called with the errno of registering, or 0.
  void Run(UringWorker& worker, const std::function<void(int)>& tried);
  void LetGrow();  // from now on
  // Gives a place one thread more. By one of its threads.
  void Grow(Lane& lane);
  // Returns when all have tried. An error: a queue has no entry, so that the kernel does not begin.
  Result<void> StartWorkers(const std::vector<UringWorker*>& workers, size_t queues);

  const int device_;
  const Capabilities capabilities_;
  Handler& handler_;
  cpu_set_t usual_processors_{};  // empty if they cannot be told
  // FORGET and INTERRUPT come through the device as ever.
  std::unique_ptr<DeviceChannel> reader_;
  ReaderGate gate_;
  std::unique_ptr<ClientFollower> follower_;  // null: not possible here
  std::list<Lane> lanes_;
  mutable absl::Mutex workers_mu_;
  std::list<std::unique_ptr<UringWorker>> workers_ ABSL_GUARDED_BY(workers_mu_);
  WorkerThreads threads_;
};

}  // namespace agentfs::fuse
