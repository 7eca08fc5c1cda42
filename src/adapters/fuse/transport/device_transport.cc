// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/device_transport.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>

#include "absl/functional/function_ref.h"

namespace agentfs::fuse {
namespace {

// Requests are read to here, so that the data of a WRITE begins on a page.
constexpr size_t kRequestOffset = kPage - sizeof(fuse_in_header) - sizeof(fuse_write_in);

// Each thread has a descriptor: few of those that the process may have go into threads.
constexpr rlim_t kDescriptorsPerThread = 8;

Fd CloneDevice(int device) {
  auto clone = OpenAt(AT_FDCWD, "/dev/fuse", O_RDWR);
  if (!clone.ok()) return {};
  uint32_t original = static_cast<uint32_t>(device);
  if (::ioctl(clone->get(), kIoctlClone, &original) != 0) return {};
  return std::move(clone).value();
}

Sender SenderOfRequest(std::span<const char> request) {
  fuse_in_header header;
  std::memcpy(&header, request.data(), sizeof header);
  const std::span<const char> rest = request.subspan(sizeof header);
  return SenderOf(header, rest, rest.size());
}

class DeviceExchange : public Exchange {
 public:
  // `answering` is called before an answer leaves.
  DeviceExchange(int device, std::span<const char> request, std::span<char> space,
                 absl::FunctionRef<void()> answering)
      : device_(device),
        body_(request.subspan(sizeof(fuse_in_header))),
        space_(space),
        answering_(answering) {
    std::memcpy(&header_, request.data(), sizeof(header_));
  }

  std::span<const char> Payload(size_t fixed) const override {
    return body_.subspan(std::min(fixed, body_.size()));
  }
  std::span<char> space() override { return space_; }
  void Answer(size_t bytes) override { Send(0, bytes); }
  void Fail(int code) override { Send(code, 0); }
  void NoAnswer() override { answered_ = true; }

  bool answered() const { return answered_; }
  bool rejected() const { return rejected_; }

 private:
  std::span<const char> Fixed(size_t size) const override {
    return body_.first(std::min(size, body_.size()));
  }

  void Send(int code, size_t bytes) {
    answered_ = true;
    answering_();
    fuse_out_header header{};
    header.len = static_cast<uint32_t>(sizeof(header) + bytes);
    header.error = -code;
    header.unique = header_.unique;
    iovec parts[2] = {{&header, sizeof(header)}, {space_.data(), bytes}};
    if (::writev(device_, parts, bytes == 0 ? 1 : 2) >= 0) return;
    // ENOENT: whoever asked was interrupted.
    rejected_ = errno != ENOENT && errno != ENODEV && errno != ENOTCONN && errno != ECONNABORTED;
  }

  int device_;
  std::span<const char> body_;
  std::span<char> space_;
  absl::FunctionRef<void()> answering_;
  bool answered_ = false;
  bool rejected_ = false;
};

}  // namespace

size_t DeviceTransport::MostThreads(size_t first) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return first;
  const rlim_t affordable = limit.rlim_cur / kDescriptorsPerThread;
  return std::max(first, static_cast<size_t>(std::min<rlim_t>(kMostThreads, affordable)));
}

Result<std::unique_ptr<DeviceChannel>> DeviceChannel::Open(int device,
                                                           const Capabilities& capabilities) {
  const size_t space = capabilities.max_write + kPage;
  AGENTFS_ASSIGN(PageBuffer request, PageBuffer::Create(kPage + space));
  AGENTFS_ASSIGN(PageBuffer answer, PageBuffer::Create(space));
  return std::unique_ptr<DeviceChannel>(
      new DeviceChannel(CloneDevice(device), device, std::move(request), std::move(answer)));
}

void DeviceChannel::Serve(Handler& handler, const WorkerThreads& threads, ReaderGate& gate,
                          ClientFollower* follower, const std::function<void()>& all_busy) {
  while (!threads.stopping() && ServeOne(handler, gate, follower, all_busy)) {
  }
  if (follower != nullptr) follower->Ended(seat_);
  if (at_gate_) LeaveGate(gate);
  gate.Open();
}

// False: there is nothing more to read.
bool DeviceChannel::ServeOne(Handler& handler, ReaderGate& gate, ClientFollower* follower,
                             const std::function<void()>& all_busy) {
  const std::span<char> buffer = request_.bytes().subspan(kRequestOffset);
  Approach(gate);
  if (!in_gate_) gate.Enter();
  in_gate_ = true;
  const ssize_t got = ::read(device_, buffer.data(), buffer.size());
  const int code = got < 0 ? errno : 0;
  if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) {
    // ENODEV: unmounted. Anything else will not get better either.
    return code == EINTR || code == EAGAIN || code == ENOENT;
  }
  const std::span<const char> request = buffer.first(static_cast<size_t>(got));
  const bool alone = follower != nullptr && follower->Received(seat_, SenderOfRequest(request));
  if (!alone && LeaveGate(gate)) all_busy();
  HandleOne(handler, gate, request);
  if (alone && !follower->Finished(seat_)) LeaveGate(gate);
  return true;
}

void DeviceChannel::Approach(ReaderGate& gate) {
  if (!at_gate_) gate.Approach();
  at_gate_ = true;
}

bool DeviceChannel::LeaveGate(ReaderGate& gate) {
  at_gate_ = in_gate_ = false;
  return gate.Leave();
}

void DeviceChannel::HandleOne(Handler& handler, ReaderGate& gate, std::span<const char> request) {
  const auto answering = [&] { Approach(gate); };
  DeviceExchange exchange(device_, request, answer_.bytes(), answering);
  handler.Handle(exchange);
  if (!exchange.answered()) exchange.Fail(EIO);
  requests_.fetch_add(1, std::memory_order_relaxed);
  if (exchange.rejected()) rejected_.fetch_add(1, std::memory_order_relaxed);
}

Transport::Statistics DeviceChannel::statistics() const {
  return {requests_.load(std::memory_order_relaxed), rejected_.load(std::memory_order_relaxed)};
}

Result<std::unique_ptr<Transport>> DeviceTransport::Start(int device,
                                                          const Capabilities& capabilities,
                                                          Handler& handler, size_t threads,
                                                          Following following) {
  auto transport = std::make_unique<DeviceTransport>(device, capabilities, handler);
  transport->most_threads_ = MostThreads(threads);
  if (following == Following::kIfPossible && ClientFollower::IsPossible()) {
    transport->follower_ = std::make_unique<ClientFollower>(
        device, transport->gate_, [t = transport.get()] { t->AddThreadIfPossible(); });
  }
  for (size_t i = 0; i < threads; ++i) AGENTFS_TRY(transport->AddThread());
  return std::unique_ptr<Transport>(std::move(transport));
}

Result<void> DeviceTransport::AddThread() {
  absl::MutexLock lock(&mu_);
  const size_t number = channels_.size();
  if (number >= most_threads_) return Error(EAGAIN);
  AGENTFS_ASSIGN(auto opened, DeviceChannel::Open(device_, capabilities_));
  DeviceChannel* channel = channels_.emplace_back(std::move(opened)).get();
  threads_.Start("fuse-dev-" + std::to_string(number), [this, channel] {
    channel->Serve(handler_, threads_, gate_, follower_.get(), [this] { AddThreadIfPossible(); });
  });
  return Ok();
}

// Without another thread the requests that come now are handled later.
void DeviceTransport::AddThreadIfPossible() noexcept {
  try {
    (void)AddThread().ok();
  } catch (const std::exception&) {
  }
}

Transport::Statistics DeviceTransport::statistics() const {
  absl::MutexLock lock(&mu_);
  Statistics sum;
  for (const auto& channel : channels_) {
    const Statistics one = channel->statistics();
    sum.requests += one.requests;
    sum.rejected += one.rejected;
  }
  if (follower_ != nullptr) sum.followed = follower_->followed();
  sum.threads = channels_.size();
  return sum;
}

}  // namespace agentfs::fuse
