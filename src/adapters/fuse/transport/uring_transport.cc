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

// As many requests can be blocked at once before one of the same processor waits. An entry that is
// added later does not take what waits already (Linux 6.18), so these are there from the beginning.
constexpr size_t kThreads = 32;
constexpr size_t kFewest = 2;  // of a processor
constexpr size_t kMost = 128;  // of a processor, if requests go on being blocked

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

UringTransport::UringTransport(int device, const Capabilities& capabilities, Handler& handler)
    : device_(device), capabilities_(capabilities), handler_(handler) {
  static_cast<void>(::sched_getaffinity(0, sizeof usual_processors_, &usual_processors_));
}

Result<UringWorker*> UringTransport::AddWorker(Lane& lane) {
  AGENTFS_ASSIGN(auto worker,
                 UringWorker::Create(device_, capabilities_, lane.place, usual_processors_, lane));
  absl::MutexLock lock(&workers_mu_);
  return workers_.emplace_back(std::move(worker)).get();
}

Result<std::vector<UringWorker*>> UringTransport::MakeWorkers(const UringPlan& plan) {
  std::vector<UringWorker*> made;
  for (const UringPlace& place : plan.first) {
    Lane& lane = lanes_.emplace_back();
    lane.place = place;
    lane.few_left = [this, &lane] { Grow(lane); };
    AGENTFS_ASSIGN(UringWorker * worker, AddWorker(lane));
    made.push_back(worker);
  }
  // Without all of these it works too: fewer requests of one processor can be blocked.
  for (const UringPlace& place : plan.further) {
    const auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& each) {
      return each.place.processor == place.processor;
    });
    auto worker = AddWorker(*lane);
    if (!worker.ok()) break;
    made.push_back(*worker);
  }
  return made;
}

void UringTransport::Run(UringWorker& worker, const std::function<void(int)>& tried) {
  const Result<void> ready = worker.Register();
  tried(ready.code());
  if (ready.ok()) worker.Serve(handler_, threads_, follower_.get());
  worker.Close();
}

Result<void> UringTransport::StartWorkers(const std::vector<UringWorker*>& workers, size_t queues) {
  absl::BlockingCounter tried(static_cast<int>(workers.size()));
  std::atomic<int> failed = 0;
  const auto note = [&tried, &failed](int code) {
    if (code != 0) failed.store(code);
    tried.DecrementCount();
  };
  for (size_t i = 0; i < workers.size(); ++i) {
    UringWorker* worker = workers[i];
    try {
      threads_.Start("fuse-ring-" + std::to_string(i),
                     [this, worker, note] { Run(*worker, note); });
    } catch (const std::exception&) {  // those that run need what they were given
      note(EAGAIN);
    }
  }
  tried.Wait();
  std::vector<bool> served(queues, false);
  for (const UringWorker* worker : workers) {
    if (!worker->registered()) continue;
    for (uint16_t queue : worker->place().queues) served[queue] = true;
  }
  if (std::find(served.begin(), served.end(), false) == served.end()) return Ok();
  return Error(failed.load(), "cannot register io_uring with FUSE");
}

void UringTransport::LetGrow() {
  const size_t most = std::min(kMost, DescriptorBudget() / lanes_.size());  // of rings
  for (Lane& lane : lanes_) lane.most = lane.place.processor < 0 ? 0 : most;
}

// The kernel gives a new entry what comes next, and when that is answered what has waited.
void UringTransport::Grow(Lane& lane) {
  if (lane.threads.load() >= lane.most.load() || threads_.stopping()) return;
  if (lane.grows.exchange(true)) return;
  const auto tried = [&lane](int code) {
    if (code != 0) lane.most.store(0);  // there can be no more
    lane.grows.store(false);
  };
  try {
    const Result<UringWorker*> worker = AddWorker(lane);
    if (!worker.ok()) return tried(worker.code());
    threads_.Start("fuse-ring-more", [this, worker = *worker, tried] { Run(*worker, tried); });
  } catch (const std::exception&) {
    tried(EAGAIN);
  }
}

Result<std::unique_ptr<Transport>> UringTransport::Start(int device,
                                                         const Capabilities& capabilities,
                                                         Handler& handler,
                                                         size_t threads_per_processor,
                                                         Following following) {
  std::unique_ptr<UringTransport> transport(new UringTransport(device, capabilities, handler));
  if (following == Following::kIfPossible && ClientFollower::IsPossible()) {
    transport->follower_ = std::make_unique<ClientFollower>();
  }
  const UringPlan plan = PlanUring(ReadProcessors(), threads_per_processor);
  auto made = transport->MakeWorkers(plan);
  // Queues are numbered without gaps.
  const Result<void> started =
      made.ok() ? transport->StartWorkers(*made, CountQueues(plan)) : made.error();
  if (!started.ok()) {
    transport.reset();
    AGENTFS_TRY(RefuseRings(device));
    return started.error();
  }
  if (threads_per_processor == 0) transport->LetGrow();
  AGENTFS_ASSIGN(transport->reader_, DeviceChannel::Open(device, capabilities));
  UringTransport* self = transport.get();
  self->threads_.Start("fuse-reader", [self, &handler] {
    self->reader_->Serve(handler, self->threads_, self->gate_, nullptr, [] {});
  });
  return std::unique_ptr<Transport>(std::move(transport));
}

Transport::Statistics UringTransport::statistics() const {
  Statistics sum = reader_->statistics();
  absl::MutexLock lock(&workers_mu_);
  for (const auto& worker : workers_) sum.requests += worker->requests();
  if (follower_ != nullptr) sum.followed = follower_->followed();
  return sum;
}

}  // namespace agentfs::fuse
