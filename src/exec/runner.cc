// SPDX-License-Identifier: Apache-2.0
#include "exec/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/bubblewrap.h"
#include "exec/inner.h"
#include "exec/inner_program.h"
#include "exec/signals.h"
#include "exec/terminal_filter.h"
#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr int kEndedBySignal = 128;
constexpr size_t kMaxWords = 4096;

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

// Descriptors that the other side gets, by their numbers here; closed at our own exec otherwise.
struct Handed {
  Fd channel, program, error, filter;
};

struct Ours {
  Fd channel, words;
};

Result<std::pair<Ours, Handed>> MakeDescriptors() {
  Ours ours;
  Handed handed;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoError();
  ours.channel = Fd(ends[0]);
  handed.channel = Fd(ends[1]);
  AGENTFS_ASSIGN(handed.program, OpenInnerProgram());
  AGENTFS_ASSIGN(handed.filter, MakeTerminalFilter());
  handed.error = Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!handed.error) {
    AGENTFS_ASSIGN(handed.error, OpenAt(AT_FDCWD, "/dev/null", O_RDWR));
  }
  return std::pair(std::move(ours), std::move(handed));
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name(*variable, std::strcspn(*variable, "="));
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& each) {
      return each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=';
    });
    if (!replaced) all.emplace_back(*variable);
  }
  return all;
}

// bubblewrap as a child of this process: its arguments and environment, made before the fork.
struct Child {
  std::vector<std::string> arguments, environment;
  pid_t pid = 0;
};

std::vector<std::string> ArgumentsFor(const SandboxedCommand& command, const Handed& handed,
                                      const SignalState& signals) {
  std::vector<std::string> words = {command.bubblewrap};
  for (std::string& word : BubblewrapArguments(command.plan)) words.push_back(std::move(word));
  words.insert(words.end(), {"--seccomp", std::to_string(handed.filter.get()), "--",
                             "/proc/self/fd/" + std::to_string(handed.program.get())});
  InnerOptions inner;
  inner.channel = handed.channel.get();
  inner.program = handed.program.get();
  inner.error = handed.error.get();
  inner.signals = signals;
  inner.directory = command.directory;
  inner.fallback = command.fallback;
  inner.command = command.command;
  for (std::string& word : inner.ToArguments()) words.push_back(std::move(word));
  return words;
}

void KeepAtExec(const Fd& fd) { ::fcntl(fd.get(), F_SETFD, 0); }

Result<pid_t> Spawn(Child& child, const Handed& handed, int words) {
  std::vector<char*> argv = Pointers(child.arguments);
  std::vector<char*> envp = Pointers(child.environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoError().WithContext("starting bubblewrap");
  if (pid > 0) return pid;
  ::dup2(words, STDERR_FILENO);
  for (const Fd* fd : {&handed.channel, &handed.program, &handed.error, &handed.filter}) {
    KeepAtExec(*fd);
  }
  if (::getppid() == parent) ::execve(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

// Follows a command from its start to its end.
class Follower {
 public:
  Follower(pid_t pid, Ours ours, Fd signals)
      : pid_(pid), ours_(std::move(ours)), signals_(std::move(signals)) {}

  // The status of bubblewrap, which is the command's if it was started.
  Result<int> Follow();
  bool started() const { return started_; }
  // What bubblewrap said of its own.
  std::string Words() const;
  void TakeSignals();

 private:
  void TakeMessage();
  void StopToo(int signal) const;

  const pid_t pid_;
  const Ours ours_;
  const Fd signals_;
  bool started_ = false;
  bool channel_open_ = true;
};

void Follower::TakeSignals() {
  while (auto signal = NextSignal(signals_.get())) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (number == SIGCHLD || !WasSent(*signal)) continue;
    if (started_) {
      SendMessage(ours_.channel.get(), {SandboxMessage::Kind::kSignal, number});
    } else if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT) {
      ::kill(pid_, SIGKILL);
    }
  }
}

void Follower::TakeMessage() {
  SandboxMessage message;
  if (!ReceiveMessage(ours_.channel.get(), message)) {
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
  SendMessage(ours_.channel.get(), {SandboxMessage::Kind::kSignal, SIGCONT});
}

Result<int> Follower::Follow() {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      // It may have started and ended before we looked.
      struct pollfd wait = {ours_.channel.get(), POLLIN, 0};
      while (channel_open_ && !started_ && ::poll(&wait, 1, 0) > 0) TakeMessage();
      return WIFSIGNALED(status) ? kEndedBySignal + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (ended < 0 && errno != EINTR) return ErrnoError();
    struct pollfd waits[] = {{signals_.get(), POLLIN, 0},
                             {channel_open_ ? ours_.channel.get() : -1, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return ErrnoError();
    if (waits[1].revents != 0) TakeMessage();
    TakeSignals();
  }
}

std::string Follower::Words() const {
  std::string text(kMaxWords, '\0');
  const ssize_t n = ::read(ours_.words.get(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Result<int> RunSandboxed(const SandboxedCommand& command) {
  const SignalState before = SignalState::OfThisProcess();
  AGENTFS_ASSIGN(auto both, MakeDescriptors());
  auto& [ours, handed] = both;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoError();
  ours.words = Fd(ends[0]);
  Fd write_end(ends[1]);
  Child child;
  child.arguments = ArgumentsFor(command, handed, before);
  child.environment = Environment(command.environment);
  const Foreground foreground;
  AGENTFS_ASSIGN(Fd signals, CatchSignals());
  AGENTFS_ASSIGN(const pid_t pid, Spawn(child, handed, write_end.get()));
  handed = Handed();
  write_end.Reset();
  Follower follower(pid, std::move(ours), std::move(signals));
  AGENTFS_ASSIGN(const int status, follower.Follow());
  foreground.TakeBack();
  follower.TakeSignals();  // those that nobody needs any more
  before.Restore();
  if (follower.started()) return status;
  const std::string words = follower.Words();
  return Error(
      EPERM,
      "the sandbox cannot be had: " +
          (words.empty() ? "bubblewrap ended with status " + std::to_string(status) : words),
      RemedyForBubblewrap(words));
}

}  // namespace agentfs
