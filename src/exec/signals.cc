// SPDX-License-Identifier: Apache-2.0
#include "exec/signals.h"

#include <sys/socket.h>
#include <unistd.h>

namespace agentfs {
namespace {

uint64_t BitOf(int signal) { return uint64_t{1} << (signal - 1); }

}  // namespace

SignalState SignalState::OfThisProcess() {
  SignalState state;
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (::sigismember(&mask, signal) == 1) state.blocked |= BitOf(signal);
    struct sigaction action;
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      state.ignored |= BitOf(signal);
    }
  }
  return state;
}

void SignalState::Restore() const {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, (ignored & BitOf(signal)) != 0 ? SIG_IGN : SIG_DFL);
    if ((blocked & BitOf(signal)) != 0) ::sigaddset(&mask, signal);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

Result<Fd> CatchSignals() {
  sigset_t all;
  ::sigfillset(&all);
  // These tell of our own mistakes.
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&all, signal);
  ::sigdelset(&all, SIGALRM);  // a limit in time that somebody has set holds
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  // A child that nobody waits for would leave no status.
  ::signal(SIGCHLD, SIG_DFL);
  Fd fd(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return ErrnoError();
  return fd;
}

std::optional<struct signalfd_siginfo> NextSignal(int fd) {
  struct signalfd_siginfo info;
  if (::read(fd, &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return info;
}

bool WasSent(const struct signalfd_siginfo& signal) { return signal.ssi_code <= 0; }

bool SendMessage(int socket, SandboxMessage message) {
  return ::send(socket, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
}

bool ReceiveMessage(int socket, SandboxMessage& message) {
  ssize_t n;
  do {
    n = ::recv(socket, &message, sizeof(message), 0);
  } while (n < 0 && errno == EINTR);
  return n == sizeof(message);
}

}  // namespace agentfs
