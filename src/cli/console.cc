// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace agentfs::cli {
namespace {

constexpr size_t kBuffer = 64 << 10;

}  // namespace

bool Console::IsTerminal() const { return ::isatty(streams_.out) == 1; }

bool Console::ErrorsAreTerminal() const { return ::isatty(streams_.err) == 1; }
bool Console::CanAsk() const { return ::isatty(streams_.in) == 1 && ErrorsAreTerminal(); }

Result<void> Console::WaitFor(int fd, short events) const {
  if (streams_.client < 0) return Ok();
  struct pollfd waits[] = {{fd, events, 0}, {streams_.client, POLLRDHUP, 0}};
  for (;;) {
    if (::poll(waits, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return Error(errno);
    }
    if (waits[1].revents != 0) return Error(ECANCELED, "the client is gone");
    if (waits[0].revents != 0) return Ok();
  }
}

Result<void> Console::WriteAll(int fd, std::string_view data) {
  // A pipe that can be written to takes this much without blocking.
  const size_t piece = streams_.client < 0 ? data.size() : PIPE_BUF;
  while (!data.empty()) {
    AGENTFS_TRY(WaitFor(fd, POLLOUT));
    const ssize_t n = ::write(fd, data.data(), std::min(data.size(), piece));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
      struct pollfd wait = {fd, POLLOUT, 0};
      if (errno == EAGAIN) ::poll(&wait, 1, -1);
      continue;
    }
    if (n < 0) {
      const int code = errno;
      broken_pipe_ |= code == EPIPE && fd == streams_.out;
      return Error(code);
    }
    data.remove_prefix(static_cast<size_t>(n));
  }
  return Ok();
}

Result<void> Console::Write(std::string_view data) {
  if (buffer_.size() + data.size() > kBuffer) AGENTFS_TRY(Flush());
  if (data.size() > kBuffer) {
    auto written = WriteAll(streams_.out, data);
    if (!written.ok()) return written.error().WithContext("writing the output");
    return Ok();
  }
  buffer_ += data;
  return IsTerminal() ? Flush() : Ok();
}

Result<void> Console::Flush() {
  std::string data;
  data.swap(buffer_);
  auto written = WriteAll(streams_.out, data);
  if (!written.ok()) return written.error().WithContext("writing the output");
  return Ok();
}

void Console::WriteError(std::string_view text) { (void)WriteAll(streams_.err, text); }

Result<size_t> Console::Read(std::span<char> out) {
  size_t done = std::min(given_back_.size(), out.size());
  given_back_.copy(out.data(), done);
  given_back_.erase(0, done);
  while (done < out.size()) {
    AGENTFS_TRY(WaitFor(streams_.in, POLLIN));
    const ssize_t n = ::read(streams_.in, out.data() + done, out.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(errno).WithContext("reading stdin");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Result<bool> Console::AskYesOrNo(std::string_view question) {
  WriteError(std::string(question) + " [y/N] ");
  std::string answer;
  for (char c = 0; c != '\n';) {
    AGENTFS_ASSIGN(const size_t got, Read({&c, 1}));
    if (got == 0) break;
    answer.push_back(c);
  }
  return answer == "y\n" || answer == "Y\n" || answer == "yes\n";
}

}  // namespace agentfs::cli
