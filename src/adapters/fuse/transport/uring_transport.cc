// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/uring_transport.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <string>

#include "absl/synchronization/blocking_counter.h"
#include "sys/fd.h"

namespace agentfs::fuse {
namespace {

// As many requests can be blocked before one of the same processor waits. An entry that is added
// later does not take what waits already (Linux 6.18), so all are there from the beginning.
constexpr size_t kThreads = 32;
constexpr size_t kFewest = 2;  // of a processor

}  // namespace

UringPlan PlanUring(const Processors& processors, size_t threads_per_processor) {
  if (threads_per_processor == 0) {
    // A ring is a descriptor.
    const size_t all = std::min(kThreads, DescriptorBudget() / 4);
    threads_per_processor = std::max(kFewest, all / std::max<size_t>(1, processors.online.size()));
  }
  UringPlan plan;
  UringPlace offline;
  // Queues are numbered without gaps.
  for (size_t queue = 0; queue < processors.possible.size(); ++queue) {
    const int processor = static_cast<int>(queue);
    const auto& online = processors.online;
    if (std::find(online.begin(), online.end(), processor) == online.end()) {
      offline.queues.push_back(static_cast<uint16_t>(queue));
      continue;
    }
    const UringPlace place{{static_cast<uint16_t>(queue)}, processor};
    plan.first.push_back(place);
    plan.further.insert(plan.further.end(), threads_per_processor - 1, place);
  }
  if (!offline.queues.empty()) plan.first.push_back(std::move(offline));
  return plan;
}

Result<void> UringTransport::StartWorkers(int device, const Capabilities& capabilities,
                                          Handler& handler, const std::vector<UringPlace>& places) {
  const size_t begin = workers_.size();
  for (const UringPlace& place : places) {
    AGENTFS_ASSIGN(auto worker, UringWorker::Create(device, capabilities, place));
    workers_.push_back(std::move(worker));
  }
  absl::BlockingCounter registered(static_cast<int>(places.size()));
  std::atomic<int> failed = 0;
  for (size_t i = begin; i < workers_.size(); ++i) {
    UringWorker* worker = workers_[i].get();
    const auto body = [this, worker, &handler, &registered, &failed] {
      const auto ready = worker->Register();
      if (!ready.ok()) failed.store(ready.code());
      registered.DecrementCount();
      if (ready.ok()) worker->Serve(handler, threads_, follower_.get());
      worker->Close();
    };
    try {
      threads_.Start("fuse-ring-" + std::to_string(i), body);
    } catch (const std::exception&) {  // those that run need what they were given
      failed.store(EAGAIN);
      registered.DecrementCount();
    }
  }
  registered.Wait();
  if (failed.load() != 0) return Error(failed.load(), "cannot register io_uring with FUSE");
  return Ok();
}

Result<std::unique_ptr<Transport>> UringTransport::Start(int device,
                                                         const Capabilities& capabilities,
                                                         Handler& handler,
                                                         size_t threads_per_processor,
                                                         Following following) {
  auto transport = std::make_unique<UringTransport>();
  if (following == Following::kIfPossible && ClientFollower::IsPossible()) {
    transport->follower_ = std::make_unique<ClientFollower>();
  }
  const UringPlan plan = PlanUring(ReadProcessors(), threads_per_processor);
  auto started = transport->StartWorkers(device, capabilities, handler, plan.first);
  if (!started.ok()) {
    transport.reset();
    AGENTFS_TRY(RefuseRings(device));
    return started.error();
  }
  AGENTFS_ASSIGN(transport->reader_, DeviceChannel::Open(device, capabilities));
  UringTransport* self = transport.get();
  self->threads_.Start("fuse-reader", [self, &handler] {
    self->reader_->Serve(handler, self->threads_, self->gate_, nullptr, [] {});
  });
  // Without all of these it works too: fewer requests of one processor can be blocked.
  static_cast<void>(self->StartWorkers(device, capabilities, handler, plan.further).ok());
  return std::unique_ptr<Transport>(std::move(transport));
}

Transport::Statistics UringTransport::statistics() const {
  Statistics sum = reader_->statistics();
  for (const auto& worker : workers_) sum.requests += worker->requests();
  if (follower_ != nullptr) sum.followed = follower_->followed();
  return sum;
}

}  // namespace agentfs::fuse
