// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/uring_worker.h"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace agentfs::fuse {
namespace {

constexpr size_t kSmallestPayload = 32 * kPage;  // what a kernel without MAX_PAGES may send
constexpr size_t kSpareThreads = 2;              // of a place
constexpr unsigned kRingFlags =
    IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;

Result<void> MakeRing(unsigned entries, io_uring& ring) {
  const int made = ::io_uring_queue_init(entries, &ring, kRingFlags);
  if (made < 0) return Error(-made, "cannot make an io_uring");
  return Ok();
}

// Of the next submission, for which there always is room: an entry has at most one under way.
io_uring_sqe& PrepareCommand(io_uring& ring, int device, uint32_t command, uint64_t commit_id,
                             uint16_t queue) {
  io_uring_sqe* const next = ::io_uring_get_sqe(&ring);
  if (next == nullptr) std::abort();
  io_uring_sqe& sqe = *next;
  std::memset(static_cast<void*>(&sqe), 0, 2 * sizeof(sqe));  // 128 bytes
  sqe.opcode = IORING_OP_URING_CMD;
  sqe.fd = device;
  sqe.cmd_op = command;
  UringCommand arguments{};
  arguments.commit_id = commit_id;
  arguments.queue = queue;
  std::memcpy(reinterpret_cast<char*>(&sqe) + offsetof(io_uring_sqe, cmd), &arguments,
              sizeof(arguments));
  return sqe;
}

}  // namespace

// Answers where the request was; the worker sends it back when the handler has returned.
class UringWorker::EntryExchange : public Exchange {
 public:
  EntryExchange(UringWorker& worker, Entry& entry) : worker_(worker), entry_(entry) {
    const UringRequestHeader& sent = entry.header();
    std::memcpy(&header_, sent.in_out, sizeof(header_));
    const std::span<char> payload = entry.payload();
    payload_ = payload.first(std::min<size_t>(sent.state.payload_size, payload.size()));
    // The answer goes where the payload is. Only to WRITE is it one that is written last.
    if (header_.opcode != FUSE_WRITE && !payload_.empty()) {
      entry.names.assign(payload_.begin(), payload_.end());
      payload_ = entry.names;
    }
  }

  std::span<const char> Payload(size_t) const override { return payload_; }
  std::span<char> space() override { return entry_.payload(); }
  void WillWait() override { worker_.Roam(); }
  void Answer(size_t bytes) override { End(0, bytes); }
  void Fail(int code) override { End(code, 0); }
  // The kernel sends nothing here that has no answer; if it did, this would end it.
  void NoAnswer() override { End(0, 0); }

  bool answered() const { return answered_; }

 private:
  std::span<const char> Fixed(size_t size) const override {
    return std::span(entry_.header().op_in).first(std::min(size, sizeof(entry_.header().op_in)));
  }

  void End(int code, size_t bytes) {
    answered_ = true;
    fuse_out_header out{};
    out.len = static_cast<uint32_t>(sizeof(out) + bytes);
    out.error = -code;
    out.unique = header_.unique;
    UringRequestHeader& header = entry_.header();
    std::memcpy(header.in_out, &out, sizeof(out));
    header.state.payload_size = static_cast<uint32_t>(bytes);
  }

  UringWorker& worker_;
  Entry& entry_;
  std::span<const char> payload_;
  bool answered_ = false;
};

UringRequestHeader& UringWorker::Entry::header() const {
  return *reinterpret_cast<UringRequestHeader*>(memory.bytes().data());
}

std::span<char> UringWorker::Entry::payload() const { return memory.bytes().subspan(kPage); }

Result<std::unique_ptr<UringWorker>> UringWorker::Create(int device,
                                                         const Capabilities& capabilities,
                                                         UringPlace place, const cpu_set_t& usual,
                                                         UringLane& lane) {
  const size_t payload = std::max<size_t>(capabilities.max_write, kSmallestPayload) + kPage;
  std::unique_ptr<UringWorker> worker(new UringWorker(device, std::move(place), usual, lane));
  for (uint16_t queue : worker->place_.queues) {
    AGENTFS_ASSIGN(PageBuffer memory, PageBuffer::Create(kPage + payload));
    worker->entries_.push_back(std::make_unique<Entry>(queue, std::move(memory)));
  }
  return worker;
}

UringWorker::~UringWorker() { Close(); }

void UringWorker::Close() {
  if (!has_ring_) return;
  ::io_uring_queue_exit(&ring_);
  has_ring_ = false;
}

io_uring_sqe& UringWorker::Prepare(Entry& entry, uint32_t command) {
  io_uring_sqe& sqe =
      PrepareCommand(ring_, device_, command, entry.header().state.commit_id, entry.queue);
  sqe.user_data = reinterpret_cast<uint64_t>(&entry);
  return sqe;
}

// A processor that is offline or not ours leaves the thread where it is.
void UringWorker::Settle() {
  roams_ = false;
  if (place_.processor < 0 || place_.processor >= CPU_SETSIZE) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<size_t>(place_.processor), &only);
  static_cast<void>(::sched_setaffinity(0, sizeof only, &only));
}

// Where the disk's interrupts come, waking takes half as long: that is where the scheduler brings a
// thread that waits for a disk, and the client whom the answer wakes from there (decision 21).
void UringWorker::Roam() {
  roams_ = ::sched_setaffinity(0, sizeof usual_processors_, &usual_processors_) == 0;
}

// Whoever has started the thread may follow a client just now, with SCHED_IDLE, which is inherited.
void UringWorker::LeaveIdle() {
  const sched_param none{};
  if (::sched_getscheduler(0) == SCHED_IDLE) ::sched_setscheduler(0, SCHED_OTHER, &none);
}

Result<void> UringWorker::Register() {
  LeaveIdle();
  Settle();
  AGENTFS_TRY(MakeRing(static_cast<unsigned>(entries_.size()), ring_));
  has_ring_ = true;
  for (const auto& entry : entries_) {
    iovec parts[2] = {{entry->memory.bytes().data(), sizeof(UringRequestHeader)},
                      {entry->payload().data(), entry->payload().size()}};
    io_uring_sqe& sqe = Prepare(*entry, kUringRegister);
    sqe.addr = reinterpret_cast<uint64_t>(parts);
    sqe.len = 2;
    // The kernel has read the iovecs when this returns.
    if (const int sent = ::io_uring_submit(&ring_); sent < 0) return Error(-sent);
    io_uring_cqe* failed = nullptr;
    if (::io_uring_peek_cqe(&ring_, &failed) == 0 && failed->res < 0) {
      return Error(-failed->res, "the kernel does not take an entry of its queue");
    }
    ++live_;
  }
  registered_.store(true, std::memory_order_release);
  lane_.threads.fetch_add(1);
  return Ok();
}

// The kernel asks for pieces of a large file before the client needs them: both can work at a time,
// if they are on different processors. A thread is settled before a follower sees it, who takes the
// processors that it finds for the usual ones.
Sender UringWorker::Begin(const Entry& entry) {
  const UringRequestHeader& sent = entry.header();
  fuse_in_header header;
  std::memcpy(&header, sent.in_out, sizeof header);
  const Sender sender = SenderOf(header, sent.op_in, sent.state.payload_size);
  streams_ = header.opcode == FUSE_READ && sender.is_bulk;
  if (streams_ && !roams_) Roam();
  if (!streams_ && roams_) Settle();
  const size_t handling = lane_.handling.fetch_add(1) + 1;
  if (handling + kSpareThreads > lane_.threads.load()) lane_.few_left();
  return sender;
}

void UringWorker::HandleOne(Handler& handler, Entry& entry) {
  EntryExchange exchange(*this, entry);
  handler.Handle(exchange);
  if (!exchange.answered()) exchange.Fail(EIO);
  requests_.store(requests() + 1, std::memory_order_relaxed);
  // The next request may have shorter arguments, whose rest must be zero.
  std::memset(entry.header().op_in, 0, sizeof(entry.header().op_in));
}

void UringWorker::HandleFollowing(Handler& handler, Entry& entry, const Sender& sender,
                                  ClientFollower& follower) {
  const bool alone = follower.Received(seat_, sender);
  HandleOne(handler, entry);
  if (alone) follower.Finished(seat_);
}

void UringWorker::HandleCompleted(Handler& handler, ClientFollower* follower) {
  io_uring_cqe* completed = nullptr;
  while (::io_uring_peek_cqe(&ring_, &completed) == 0) {
    Entry& entry = *reinterpret_cast<Entry*>(completed->user_data);
    const int result = completed->res;
    ::io_uring_cqe_seen(&ring_, completed);
    if (result < 0) {  // ENOTCONN, ECANCELED: it will not come again
      --live_;
      continue;
    }
    const Sender sender = Begin(entry);
    if (follower != nullptr) {
      HandleFollowing(handler, entry, sender, *follower);
    } else {
      HandleOne(handler, entry);
    }
    lane_.handling.fetch_sub(1);
    Prepare(entry, kUringCommitAndFetch);
  }
}

void UringWorker::Serve(Handler& handler, const WorkerThreads& threads, ClientFollower* follower) {
  while (live_ > 0) {
    const int done =
        threads.stopping() ? ::io_uring_submit(&ring_) : ::io_uring_submit_and_wait(&ring_, 1);
    if (done < 0 && done != -EINTR && done != -EAGAIN && done != -EBUSY) break;
    HandleCompleted(handler, follower);
    if (roams_ && !streams_) {  // nobody waits for the way back
      static_cast<void>(::io_uring_submit(&ring_));
      Settle();
    }
    if (threads.stopping() && ::io_uring_sq_ready(&ring_) == 0) break;
  }
  if (follower != nullptr) follower->Ended(seat_);
}

bool CanMakeRings() {
  io_uring ring;
  if (!MakeRing(1, ring).ok()) return false;
  ::io_uring_queue_exit(&ring);
  return true;
}

Result<void> RefuseRings(int device) {
  io_uring ring;
  AGENTFS_TRY(MakeRing(1, ring));
  // A registration without buffers, which the kernel refuses; it then gives up on rings.
  PrepareCommand(ring, device, kUringRegister, 0, 0);
  const int sent = ::io_uring_submit(&ring);
  ::io_uring_queue_exit(&ring);
  if (sent < 0) return Error(-sent, "cannot tell the kernel to do without io_uring");
  return Ok();
}

}  // namespace agentfs::fuse
