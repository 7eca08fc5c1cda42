// SPDX-License-Identifier: Apache-2.0
#include "exec/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "exec/signals.h"
#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr int kEndedBySignal = 128;

// The terminal that this process group is in the foreground of.
class Foreground {
 public:
  Foreground() : tty_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    ours_ = tty_ && ::tcgetpgrp(tty_.get()) == ::getpgrp();
  }
  // The command may have taken it for a group of its own, which is gone. All signals are blocked,
  // so that this does not stop us.
  void TakeBack() const {
    if (ours_) ::tcsetpgrp(tty_.get(), ::getpgrp());
  }

 private:
  Fd tty_;
  bool ours_ = false;
};

// Follows a command from its start to its end.
class Follower {
 public:
  Follower(SandboxProcess process, Fd signals)
      : process_(std::move(process)), signals_(std::move(signals)) {}

  // The status of bubblewrap, which is the command's if it was started.
  Result<int> Follow();
  bool started() const { return started_; }
  const SandboxProcess& process() const { return process_; }
  void TakeSignals();

 private:
  void TakeMessage();
  void StopToo(int signal) const;

  const SandboxProcess process_;
  const Fd signals_;
  bool started_ = false;
  bool channel_open_ = true;
};

void Follower::TakeSignals() {
  while (auto signal = NextSignal(signals_.get())) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (number == SIGCHLD || !WasSent(*signal)) continue;
    if (started_) {
      SendMessage(process_.channel.get(), {SandboxMessage::Kind::kSignal, number});
    } else if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT) {
      ::kill(process_.pid, SIGKILL);
    }
  }
}

void Follower::TakeMessage() {
  SandboxMessage message;
  if (!ReceiveMessage(process_.channel.get(), message)) {
    channel_open_ = false;
  } else if (message.kind == SandboxMessage::Kind::kStarted) {
    started_ = true;
  } else if (message.kind == SandboxMessage::Kind::kStopped) {
    StopToo(message.signal);
  }
}

// So that the shell sees its job stopped, by the same signal.
void Follower::StopToo(int signal) const {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  SendMessage(process_.channel.get(), {SandboxMessage::Kind::kSignal, SIGCONT});
}

Result<int> Follower::Follow() {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(process_.pid, &status, WNOHANG);
    if (ended == process_.pid) {
      // It may have started and ended before we looked.
      struct pollfd wait = {process_.channel.get(), POLLIN, 0};
      while (channel_open_ && !started_ && ::poll(&wait, 1, 0) > 0) TakeMessage();
      return WIFSIGNALED(status) ? kEndedBySignal + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (ended < 0 && errno != EINTR) return ErrnoError();
    struct pollfd waits[] = {{signals_.get(), POLLIN, 0},
                             {channel_open_ ? process_.channel.get() : -1, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return ErrnoError();
    if (waits[1].revents != 0) TakeMessage();
    TakeSignals();
  }
}

}  // namespace

Result<int> RunSandboxed(const SandboxedCommand& command) {
  const SignalState before = SignalState::OfThisProcess();
  const Foreground foreground;
  // From here on blocked, for bubblewrap too: what the terminal sends is for the command.
  AGENTFS_ASSIGN(Fd signals, CatchSignals());
  SandboxStart start;
  start.signals = before;
  auto process = SandboxProcess::Start(command, start);
  if (!process.ok()) {
    before.Restore();
    return process.error();
  }
  Follower follower(std::move(*process), std::move(signals));
  AGENTFS_ASSIGN(const int status, follower.Follow());
  foreground.TakeBack();
  follower.TakeSignals();  // those that nobody needs any more
  before.Restore();
  if (follower.started()) return status;
  return follower.process().Failure(status);
}

}  // namespace agentfs
