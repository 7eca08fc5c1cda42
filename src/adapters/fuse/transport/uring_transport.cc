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

size_t CountQueues(const UringPlan& plan) {
  size_t count = 0;
  for (const UringPlace& place : plan.first) count += place.queues.size();
  return count;
}

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

Result<void> UringTransport::MakeWorkers(int device, const Capabilities& capabilities,
                                         const UringPlan& plan) {
  for (const UringPlace& place : plan.first) {
    AGENTFS_ASSIGN(auto worker, UringWorker::Create(device, capabilities, place));
    workers_.push_back(std::move(worker));
  }
  // Without all of these it works too: fewer requests of one processor can be blocked.
  for (const UringPlace& place : plan.further) {
    auto worker = UringWorker::Create(device, capabilities, place);
    if (!worker.ok()) break;
    workers_.push_back(std::move(worker).value());
  }
  return Ok();
}

Result<void> UringTransport::StartWorkers(Handler& handler, size_t queues) {
  absl::BlockingCounter tried(static_cast<int>(workers_.size()));
  std::atomic<int> failed = 0;
  for (size_t i = 0; i < workers_.size(); ++i) {
    UringWorker* worker = workers_[i].get();
    const auto body = [this, worker, &handler, &tried, &failed] {
      const auto ready = worker->Register();
      if (!ready.ok()) failed.store(ready.code());
      tried.DecrementCount();
      if (ready.ok()) worker->Serve(handler, threads_, follower_.get());
      worker->Close();
    };
    try {
      threads_.Start("fuse-ring-" + std::to_string(i), body);
    } catch (const std::exception&) {  // those that run need what they were given
      failed.store(EAGAIN);
      tried.DecrementCount();
    }
  }
  tried.Wait();
  std::vector<bool> served(queues, false);
  for (const auto& worker : workers_) {
    if (!worker->registered()) continue;
    for (uint16_t queue : worker->place().queues) served[queue] = true;
  }
  if (std::find(served.begin(), served.end(), false) == served.end()) return Ok();
  return Error(failed.load(), "cannot register io_uring with FUSE");
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
  auto started = transport->MakeWorkers(device, capabilities, plan);
  // Queues are numbered without gaps.
  if (started.ok()) started = transport->StartWorkers(handler, CountQueues(plan));
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
  return std::unique_ptr<Transport>(std::move(transport));
}

Transport::Statistics UringTransport::statistics() const {
  Statistics sum = reader_->statistics();
  for (const auto& worker : workers_) sum.requests += worker->requests();
  if (follower_ != nullptr) sum.followed = follower_->followed();
  return sum;
}

}  // namespace agentfs::fuse
