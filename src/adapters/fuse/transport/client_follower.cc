// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/client_follower.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"

namespace agentfs::fuse {
namespace {

// Reads and writes of more than this are streams, of which the kernel sends several at a time.
constexpr uint32_t kBulkBytes = 64 << 10;

constexpr absl::Duration kLook = absl::Milliseconds(1);
constexpr int kQuietLooks = 3;         // without a request, until it is over
constexpr int kRequestsPerLook = 128;  // at the client's processor

// After it was held up: the longer, the more often that has happened in a row.
constexpr absl::Duration kShortPause = absl::Milliseconds(20);
constexpr absl::Duration kLongPause = absl::Seconds(2);
// So long without being held up is success.
constexpr absl::Duration kGoodRun = absl::Milliseconds(100);

// Of the time between two looks, that the serving thread may wait for somebody but the client.
constexpr double kRivalShare = 0.4;

Fd OpenOfThread(uint32_t thread, const char* file) {
  auto fd = OpenAt(AT_FDCWD, "/proc/" + std::to_string(thread) + "/" + file, O_RDONLY);
  return fd.ok() ? std::move(*fd) : Fd();
}

// What a thread has run and what it has waited for a processor, in nanoseconds; zeros: unknown.
struct ThreadTimes {
  int64_t ran = 0;
  int64_t waited = 0;
};

ThreadTimes ReadTimes(const Fd& schedstat) {
  std::array<char, 96> text;
  const ssize_t size = ::pread(schedstat.get(), text.data(), text.size(), 0);
  if (size <= 0) return {};
  ThreadTimes times;
  const char* end = text.data() + size;
  const auto [space, error] = std::from_chars(text.data(), end, times.ran);
  if (error == std::errc() && space < end) std::from_chars(space + 1, end, times.waited);
  return times;
}

bool SetPolicy(int thread, int policy) {
  const sched_param none{};
  return ::sched_setscheduler(thread, policy, &none) == 0;
}

// The kernel takes the disk's priority from the policy as long as nobody has set it: what a thread
// of SCHED_IDLE writes and syncs would come after everybody else's, for seconds.
void KeepDiskPriority() {
  const long set = ::syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
  if (set < 0 || IOPRIO_PRIO_CLASS(set) != IOPRIO_CLASS_NONE) return;
  ::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
            IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NORM));
}

cpu_set_t Only(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return set;
}

// The 39th field of /proc/PID/stat; the name, which is the second, may contain anything.
int ProcessorOf(const Fd& state) {
  std::array<char, 1024> text;
  const ssize_t size = ::pread(state.get(), text.data(), text.size(), 0);
  if (size <= 0) return -1;
  std::string_view rest(text.data(), static_cast<size_t>(size));
  const size_t name_end = rest.rfind(')');
  if (name_end == std::string_view::npos) return -1;
  rest.remove_prefix(name_end + 1);
  for (int field = 3; field <= 39; ++field) {
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return -1;
    rest.remove_prefix(space + 1);
  }
  int processor = -1;
  std::from_chars(rest.data(), rest.data() + rest.size(), processor);
  return processor < CPU_SETSIZE ? processor : -1;
}

}  // namespace

Sender SenderOf(const fuse_in_header& header, std::span<const char> arguments, size_t bytes) {
  if (header.opcode == FUSE_READ && arguments.size() >= sizeof(fuse_read_in)) {
    fuse_read_in read;
    std::memcpy(&read, arguments.data(), sizeof read);
    bytes = read.size;
  }
  return {header.pid, bytes > kBulkBytes};
}

bool ClientFollower::IsPossible() {
  static const bool possible = [] {
    cpu_set_t mine;
    if (::sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) < 2) return false;
    bool can = false;
    try {
      std::thread([&can] {
        can = SetPolicy(0, SCHED_IDLE) && SetPolicy(0, SCHED_OTHER) &&
              OpenOfThread(static_cast<uint32_t>(::gettid()), "schedstat");
      }).join();
    } catch (const std::exception&) {
    }
    return can;
  }();
  return possible;
}

ClientFollower::ClientFollower(int device, ReaderGate& gate, std::function<void()> nobody_reads)
    : device_(device), gate_(&gate), nobody_reads_(std::move(nobody_reads)) {}

void ClientFollower::Stop() {
  std::thread watch;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    if (Leads()) (void)ReleaseLocked(Why::kQuiet);
    watch = std::move(watch_);
  }
  if (watch.joinable()) watch.join();
}

bool ClientFollower::Received(Seat& seat, const Sender& sender) {
  if (seat.thread == 0) seat.thread = ::gettid();
  const int leader = leader_.load(std::memory_order_acquire);
  if (leader == seat.thread) return GoOn(seat, sender);
  if (leader != 0 || !streak_mu_.TryLock()) return false;
  const bool completes = streak_.Completes(sender, [] { return absl::Now(); });
  streak_mu_.Unlock();
  return completes && Begin(seat, sender.thread);
}

bool ClientFollower::Begin(Seat& seat, uint32_t client) {
  {  // most often it is too early
    absl::MutexLock lock(&mu_);
    if (absl::Now() < not_before_) return false;
  }
  seat.client_state = OpenOfThread(client, "stat");
  if (!seat.client_state) return false;
  seat.share = ClientShare(client);
  seat.since_look = 0;
  absl::MutexLock lock(&mu_);
  return BeginLocked(seat, client);
}

bool ClientFollower::BeginLocked(Seat& seat, uint32_t client) {
  if (Leads() || stopping_) return false;
  if (::sched_getscheduler(0) != SCHED_OTHER) return false;
  if (::sched_getaffinity(0, sizeof usual_processors_, &usual_processors_) != 0) return false;
  try {  // before the policy is set, which it would inherit
    if (!watch_.joinable()) watch_ = std::thread([this] { Watch(); });
  } catch (const std::exception&) {
    return false;
  }
  if (!GoToLocked(ProcessorOf(seat.client_state))) return false;
  KeepDiskPriority();
  if (!SetPolicy(0, SCHED_IDLE)) {
    ::sched_setaffinity(0, sizeof usual_processors_, &usual_processors_);
    return false;
  }
  leader_times_ = OpenOfThread(static_cast<uint32_t>(seat.thread), "schedstat");
  client_times_ = OpenOfThread(client, "schedstat");
  waited_ = ReadTimes(leader_times_).waited - ReadTimes(client_times_).ran;
  if (gate_ != nullptr) gate_->Narrow();
  began_ = looked_ = absl::Now();
  quiet_looks_ = 0;
  progress_.fetch_or(1, std::memory_order_relaxed);
  seen_progress_ = 0;
  leader_.store(seat.thread, std::memory_order_release);
  return true;
}

bool ClientFollower::GoOn(Seat& seat, const Sender& sender) {
  progress_.fetch_add(1, std::memory_order_relaxed);
  followed_.fetch_add(1, std::memory_order_relaxed);
  const bool alone = seat.share.StillAlone(sender);
  if (alone && ++seat.since_look < kRequestsPerLook) return true;
  seat.since_look = 0;
  absl::MutexLock lock(&mu_);
  if (leader_.load(std::memory_order_relaxed) != seat.thread) return true;
  const int processor = ProcessorOf(seat.client_state);
  const bool there = processor == ::sched_getcpu() || GoToLocked(processor);
  if (!alone || !there) (void)ReleaseLocked(alone ? Why::kQuiet : Why::kOthers);
  return true;
}

bool ClientFollower::GoToLocked(int processor) {
  if (processor < 0 || !CPU_ISSET(processor, &usual_processors_)) return false;
  if (gate_ == nullptr) return true;
  const cpu_set_t there = Only(processor);
  return ::sched_setaffinity(0, sizeof there, &there) == 0;
}

bool ClientFollower::Finished(const Seat& seat) {
  if (leader_.load(std::memory_order_acquire) != seat.thread) return false;
  progress_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void ClientFollower::Ended(const Seat& seat) {
  absl::MutexLock lock(&mu_);
  if (seat.thread != 0 && leader_.load(std::memory_order_relaxed) == seat.thread) {
    (void)ReleaseLocked(Why::kQuiet);
  }
}

bool ClientFollower::ReleaseLocked(Why why) {
  const int thread = leader_.load(std::memory_order_relaxed);
  SetPolicy(thread, SCHED_OTHER);
  ::sched_setaffinity(thread, sizeof usual_processors_, &usual_processors_);
  leader_.store(0, std::memory_order_release);
  const absl::Time now = absl::Now();
  if (why == Why::kHeldUp) {
    pause_ =
        now - began_ >= kGoodRun ? kShortPause : std::clamp(2 * pause_, kShortPause, kLongPause);
    not_before_ = now + pause_;
  } else if (why != Why::kQuiet) {
    not_before_ = now + kShortPause;
  }
  return gate_ == nullptr || gate_->Widen();
}

void ClientFollower::Watch() {
  for (;;) {
    bool read = true;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &ClientFollower::MustAct));
      mu_.AwaitWithTimeout(absl::Condition(&stopping_), kLook);
      if (stopping_) return;
      if (Leads()) read = LookLocked();
    }
    if (!read) nobody_reads_();
  }
}

// After an answer the thread waits while the client runs: what it waits beyond that is for others.
bool ClientFollower::HasRivalLocked() {
  const absl::Time now = absl::Now();
  const int64_t waited = ReadTimes(leader_times_).waited - ReadTimes(client_times_).ran;
  const absl::Duration since = now - std::exchange(looked_, now);
  return absl::Nanoseconds(waited - std::exchange(waited_, waited)) > kRivalShare * since;
}

bool ClientFollower::LookLocked() {
  const uint64_t progress = progress_.load(std::memory_order_relaxed);
  const bool rival = HasRivalLocked();
  if (std::exchange(seen_progress_, progress) != progress && !rival) {
    quiet_looks_ = 0;
    return true;
  }
  const bool handles = (progress & 1) != 0;
  if (rival || handles || RequestsWait()) {
    const bool slow = handles && !rival;  // its disk is
    // If it does not handle a request it is about to read, now that it may run.
    return ReleaseLocked(slow ? Why::kSlow : Why::kHeldUp) || !handles;
  }
  if (++quiet_looks_ >= kQuietLooks) (void)ReleaseLocked(Why::kQuiet);
  return true;
}

bool ClientFollower::RequestsWait() const {
  if (gate_ == nullptr) return false;
  pollfd device{device_, POLLIN, 0};
  return ::poll(&device, 1, 0) > 0 && (device.revents & POLLIN) != 0;
}

}  // namespace agentfs::fuse
