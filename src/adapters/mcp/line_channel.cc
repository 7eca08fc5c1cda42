// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/line_channel.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace agentfs::mcp {
namespace {

constexpr size_t kPiece = 64 << 10;

}  // namespace

bool LineChannel::TakeLine(std::string& line, Event& event) {
  const size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    if (buffer_.size() > max_line_) {
      skipping_ = true;
      buffer_.clear();
    }
    scanned_ = buffer_.size();
    return false;
  }
  const bool whole = !skipping_ && end <= max_line_;
  event = whole ? Event::kLine : Event::kTooLong;
  if (whole) line.assign(buffer_, 0, end);
  buffer_.erase(0, end + 1);
  scanned_ = 0;
  skipping_ = false;
  return true;
}

LineChannel::Event LineChannel::TakeRest(std::string& line) {
  if (skipping_) {
    skipping_ = false;
    return Event::kTooLong;
  }
  if (buffer_.empty()) return Event::kEnd;
  line = std::move(buffer_);
  buffer_.clear();
  scanned_ = 0;
  return Event::kLine;
}

LineChannel::Event LineChannel::WaitForInput(int timeout_ms) const {
  struct pollfd waits[] = {{ends_.in, POLLIN, 0}, {ends_.client, POLLRDHUP, 0}};
  const int ready = ::poll(waits, 2, timeout_ms);
  if (ready < 0) return errno == EINTR ? Event::kTimeout : Event::kGone;
  if (ready == 0) return Event::kTimeout;
  // What was written before the client went is still to be answered to nobody.
  return waits[1].revents != 0 ? Event::kGone : Event::kLine;
}

LineChannel::Event LineChannel::Read(std::string& line, int timeout_ms) {
  for (;;) {
    Event event;
    if (TakeLine(line, event)) return event;
    event = WaitForInput(timeout_ms);
    if (event != Event::kLine) return event;
    const size_t had = buffer_.size();
    buffer_.resize(had + kPiece);
    const ssize_t n = ::read(ends_.in, buffer_.data() + had, kPiece);
    const int code = errno;
    buffer_.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && (code == EINTR || code == EAGAIN)) continue;
    if (n < 0) return Event::kGone;
    if (n == 0) return TakeRest(line);
  }
}

bool LineChannel::WaitForOutput() const {
  struct pollfd waits[] = {{ends_.out, POLLOUT, 0}, {ends_.client, POLLRDHUP, 0}};
  while (::poll(waits, 2, -1) < 0) {
    if (errno != EINTR) return false;
  }
  return waits[1].revents == 0;
}

bool LineChannel::IsGone() const {
  struct pollfd wait = {ends_.client, POLLRDHUP, 0};
  return ends_.client >= 0 && ::poll(&wait, 1, 0) > 0;
}

bool LineChannel::Write(std::string_view line) {
  std::string data(line);
  data += '\n';
  std::string_view left = data;
  absl::MutexLock lock(&write_mu_);
  while (!left.empty() && !broken_) {
    if (!WaitForOutput()) {
      broken_ = true;
      break;
    }
    // A pipe that can be written to takes this much without blocking.
    const size_t piece = ends_.client < 0 ? left.size() : size_t{PIPE_BUF};
    const ssize_t n = ::write(ends_.out, left.data(), std::min(left.size(), piece));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) {
      broken_ = true;
      break;
    }
    left.remove_prefix(static_cast<size_t>(n));
  }
  return !broken_;
}

}  // namespace agentfs::mcp
