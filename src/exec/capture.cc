// SPDX-License-Identifier: Apache-2.0
#include "exec/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace agentfs {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kPieceBytes = 64 << 10;
// How long the end of all that is inside is waited for before bubblewrap is killed, too.
constexpr auto kGrace = std::chrono::seconds(5);
constexpr int kFirstSignalStatus = 128;

// One stream: its beginning in memory, all of it in a file if it is long.
class Catcher {
 public:
  Catcher(OutputStream stream, Fd pipe, const CaptureOptions& options)
      : stream_(stream), pipe_(std::move(pipe)), options_(options) {}

  // The descriptor to wait for; -1 once the stream has ended.
  int fd() const { return pipe_.get(); }
  // What has come; at its end the pipe is closed.
  void Read() {
    char piece[kPieceBytes];
    const ssize_t n = ::read(pipe_.get(), piece, sizeof(piece));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) return pipe_.Reset();
    Add({piece, static_cast<size_t>(n)});
  }
  // What was written, by who has gone.
  void ReadRest() {
    struct pollfd wait = {pipe_.get(), POLLIN, 0};
    while (pipe_ && ::poll(&wait, 1, 0) > 0) Read();
  }
  CapturedOutput Take() {
    output_.truncated = output_.total > output_.bytes.size();
    return std::move(output_);
  }
  const std::string& trouble() const { return trouble_; }

 private:
  void Add(std::string_view piece) {
    if (options_.tee) options_.tee(stream_, piece);
    const uint64_t before = output_.total;
    output_.total += piece.size();
    const uint64_t inline_bytes = std::min(options_.output_limit, kInlineOutput);
    if (output_.total > inline_bytes && !options_.keep_prefix.empty()) {
      // Until now everything was in memory.
      if (before <= inline_bytes) StartFile();
      Keep(piece);
    }
    const uint64_t room = options_.output_limit - output_.bytes.size();
    output_.bytes.append(piece.substr(0, std::min<uint64_t>(room, piece.size())));
  }

  void StartFile() {
    const char* suffix = stream_ == OutputStream::kOut ? ".stdout" : ".stderr";
    auto file = OpenAt(AT_FDCWD, options_.keep_prefix + suffix, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!file.ok()) {
      trouble_ = file.error().message();
      return;
    }
    file_ = std::move(*file);
    Keep(output_.bytes);
  }

  void Keep(std::string_view piece) {
    if (!file_ || kept_ >= kMaxKeptOutput) return;
    piece = piece.substr(0, std::min<uint64_t>(piece.size(), kMaxKeptOutput - kept_));
    const auto written = WriteAt(file_.get(), kept_, piece);
    kept_ += piece.size();
    if (written.ok()) return;
    trouble_ = written.error().message();
    file_.Reset();
  }

  const OutputStream stream_;
  Fd pipe_;
  const CaptureOptions& options_;
  CapturedOutput output_;
  Fd file_;
  uint64_t kept_ = 0;
  std::string trouble_;
};

Result<std::pair<Fd, Fd>> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError();
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

// A file, so that nobody has to feed it while the command runs.
Result<Fd> MakeInput(const std::optional<std::string>& input) {
  if (!input) return OpenAt(AT_FDCWD, "/dev/null", O_RDONLY);
  Fd file(::memfd_create("agentfs-stdin", MFD_CLOEXEC));
  if (!file) return ErrnoError();
  AGENTFS_TRY(WriteAt(file.get(), 0, *input));
  return OpenAt(AT_FDCWD, "/proc/self/fd/" + std::to_string(file.get()), O_RDONLY);
}

// Becomes readable when the command is to be stopped.
class StopSignal {
 public:
  explicit StopSignal(std::stop_token stop)
      : wake_(::eventfd(0, EFD_CLOEXEC)), callback_(std::move(stop), Wake{wake_.get()}) {}
  int fd() const { return wake_.get(); }

 private:
  struct Wake {
    int fd;
    void operator()() const noexcept { (void)::eventfd_write(fd, 1); }
  };
  const Fd wake_;
  std::stop_callback<Wake> callback_;
};

// Follows a sandbox from its start until nothing is left of it.
class CaptureRun {
 public:
  CaptureRun(SandboxProcess process, Catcher out, Catcher err, const CaptureOptions& options)
      : process_(std::move(process)),
        ended_(static_cast<int>(::syscall(SYS_pidfd_open, process_.pid, 0))),
        out_(std::move(out)),
        err_(std::move(err)),
        stop_(options.stop) {
    if (options.timeout_ms > 0) deadline_ = started_at_ + milliseconds(options.timeout_ms);
  }

  Result<Captured> Follow();

 private:
  void WaitOnce();
  void TakeMessage();
  void EndAll(Captured::End why);
  int PollTimeout() const;
  int Reap();
  void Judge(int status);

  const SandboxProcess process_;
  const Fd ended_;
  Catcher out_, err_;
  const StopSignal stop_;
  const Clock::time_point started_at_ = Clock::now();
  std::optional<Clock::time_point> deadline_;
  bool over_ = false, started_ = false, channel_open_ = true, ending_ = false;
  std::optional<SandboxMessage> end_;
  Captured captured_;
};

int CaptureRun::PollTimeout() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline_ - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void CaptureRun::TakeMessage() {
  SandboxMessage message;
  if (!ReceiveMessage(process_.channel.get(), message)) {
    channel_open_ = false;
  } else if (message.kind == SandboxMessage::Kind::kStarted) {
    started_ = true;
  } else if (message.kind == SandboxMessage::Kind::kEnded) {
    end_ = message;
  }
}

// Process 1 ends when nobody is at the other end of its channel, and all others with it. A second
// call means that this has not helped.
void CaptureRun::EndAll(Captured::End why) {
  if (ending_ || !started_) ::kill(process_.pid, SIGKILL);
  if (!ending_) captured_.end = why;
  ending_ = true;
  ::shutdown(process_.channel.get(), SHUT_RDWR);
  deadline_ = Clock::now() + kGrace;
}

void CaptureRun::WaitOnce() {
  enum { kEndedAt, kChannel, kOut, kErr, kStop, kWaits };
  struct pollfd waits[kWaits] = {{ended_.get(), POLLIN, 0},
                                 {channel_open_ ? process_.channel.get() : -1, POLLIN, 0},
                                 {out_.fd(), POLLIN, 0},
                                 {err_.fd(), POLLIN, 0},
                                 {ending_ ? -1 : stop_.fd(), POLLIN, 0}};
  if (::poll(waits, kWaits, PollTimeout()) < 0) return;
  if (waits[kChannel].revents != 0) TakeMessage();
  if (waits[kOut].revents != 0) out_.Read();
  if (waits[kErr].revents != 0) err_.Read();
  over_ = waits[kEndedAt].revents != 0;
  if (over_ || end_) return;
  if (waits[kStop].revents != 0) return EndAll(Captured::End::kStopped);
  if (deadline_ && Clock::now() >= *deadline_) EndAll(Captured::End::kTimedOut);
}

int CaptureRun::Reap() {
  int status = 0;
  struct rusage usage = {};
  while (::wait4(process_.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  for (const struct timeval& time : {usage.ru_utime, usage.ru_stime}) {
    captured_.cpu_us += int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
  }
  captured_.max_rss = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return status;
}

// Process 1 knows best how the command ended; of what was ended with it, only bubblewrap's own
// figures are left.
void CaptureRun::Judge(int status) {
  if (end_) {
    captured_.cpu_us = static_cast<int64_t>(end_->cpu_us);
    captured_.max_rss = end_->max_rss;
    if (end_->signal != 0) {
      captured_.signal = end_->signal;
    } else {
      captured_.exit_code = end_->status;
    }
  } else if (captured_.end != Captured::End::kByItself || WIFSIGNALED(status)) {
    captured_.signal = SIGKILL;
  } else {
    captured_.exit_code = WEXITSTATUS(status);
  }
}

Result<Captured> CaptureRun::Follow() {
  // Process 1 has seen all others off when it tells the end.
  while (!over_ && !end_) WaitOnce();
  const int status = over_ ? Reap() : 0;
  if (!over_) captured_.remains = SandboxRemains(process_.pid);
  out_.ReadRest();
  err_.ReadRest();
  struct pollfd left = {process_.channel.get(), POLLIN, 0};
  while (channel_open_ && !ending_ && ::poll(&left, 1, 0) > 0) TakeMessage();
  captured_.duration_us =
      std::chrono::duration_cast<microseconds>(Clock::now() - started_at_).count();
  if (!started_ && captured_.end == Captured::End::kByItself) {
    const int number =
        WIFSIGNALED(status) ? kFirstSignalStatus + WTERMSIG(status) : WEXITSTATUS(status);
    return process_.Failure(number);
  }
  Judge(status);
  captured_.trouble = out_.trouble().empty() ? err_.trouble() : out_.trouble();
  captured_.out = out_.Take();
  captured_.err = err_.Take();
  return std::move(captured_);
}

}  // namespace

SandboxRemains::~SandboxRemains() {
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Captured> RunCaptured(const SandboxedCommand& command, const CaptureOptions& options) {
  AGENTFS_ASSIGN(const Fd input, MakeInput(options.input));
  AGENTFS_ASSIGN(auto out, MakePipe());
  AGENTFS_ASSIGN(auto err, MakePipe());
  SandboxStart start;
  start.in = input.get();
  start.out = out.second.get();
  start.err = err.second.get();
  start.own_session = true;
  AGENTFS_ASSIGN(SandboxProcess process, SandboxProcess::Start(command, start));
  out.second.Reset();
  err.second.Reset();
  CaptureRun run(std::move(process), Catcher(OutputStream::kOut, std::move(out.first), options),
                 Catcher(OutputStream::kErr, std::move(err.first), options), options);
  return run.Follow();
}

}  // namespace agentfs
