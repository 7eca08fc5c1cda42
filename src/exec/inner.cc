// SPDX-License-Identifier: Apache-2.0
#include "exec/inner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "exec/last_readers.h"
#include "sys/first_open.h"

namespace agentfs {
namespace {

constexpr int kFailed = 125, kCannotExecute = 126, kNoSuchCommand = 127, kSignalled = 128;
constexpr size_t kFixedArguments = 8;
// How long those are waited for that pass on the command's last output, and how often looked at.
constexpr std::chrono::seconds kPatience(2);
constexpr int kLookMs = 5;

using Clock = std::chrono::steady_clock;

void EnterDirectory(const InnerOptions& options) {
  for (const std::string& directory : {options.directory, options.fallback, std::string("/")}) {
    if (::chdir(directory.c_str()) != 0) continue;
    ::setenv("PWD", directory.c_str(), 1);
    return;
  }
}

[[noreturn]] void BecomeCommand(const InnerOptions& options) {
  std::vector<char*> argv;
  for (const std::string& word : options.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  options.signals.Restore();
  ::execvp(argv[0], argv.data());
  const int code = errno;
  std::fprintf(stderr, "agentfs: %s: %s\n", argv[0], std::strerror(code));
  ::_exit(code == ENOENT || code == ENOTDIR ? kNoSuchCommand : kCannotExecute);
}

class Inner {
 public:
  Inner(const InnerOptions& options, Fd signals)
      : options_(options), signals_(std::move(signals)) {}

  int Run();

 private:
  // Passes signals on that agentfs outside was sent.
  bool TakeMessage();
  void TakeSignals();
  void PassOn(int signal);
  // Notes the command's end, and tells when it stops.
  void Reap();
  // Whether nobody is left who passes on what the command has said.
  bool IsOver() const;
  void EndOthers() const;
  void TellEnd() const;
  int ExitStatus() const;

  const InnerOptions& options_;
  const Fd signals_;
  pid_t command_ = 0;
  std::optional<int> ended_;      // how, as wait(2) says it
  Clock::time_point wait_until_;  // once it has ended
};

void Inner::PassOn(int signal) {
  if (!ended_) {
    ::kill(command_, signal);
  } else {
    wait_until_ = Clock::now();  // whoever is left shall not be waited for
  }
}

bool Inner::TakeMessage() {
  SandboxMessage message;
  if (!ReceiveMessage(options_.channel, message)) return false;
  if (message.kind == SandboxMessage::Kind::kSignal) PassOn(message.signal);
  return true;
}

void Inner::TakeSignals() {
  while (auto signal = NextSignal(signals_.get())) {
    const int number = static_cast<int>(signal->ssi_signo);
    if (number != SIGCHLD && WasSent(*signal)) PassOn(number);
  }
}

void Inner::TellEnd() const {
  struct rusage usage = {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  SandboxMessage message;
  message.kind = SandboxMessage::Kind::kEnded;
  if (WIFSIGNALED(*ended_)) {
    message.signal = WTERMSIG(*ended_);
  } else {
    message.status = WEXITSTATUS(*ended_);
  }
  for (const struct timeval& time : {usage.ru_utime, usage.ru_stime}) {
    message.cpu_us += static_cast<uint64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
  }
  message.max_rss = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  SendMessage(options_.channel, message);
}

// The end of this process would do that, but nobody outside would know that it is done before the
// namespaces are gone, too.
void Inner::EndOthers() const {
  if (::getpid() != 1) return;  // "all" would not be the sandbox's
  do {
    ::kill(-1, SIGKILL);
  } while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR);
}

void Inner::Reap() {
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid != command_) continue;
    if (WIFSTOPPED(status)) {
      SendMessage(options_.channel, {SandboxMessage::Kind::kStopped, WSTOPSIG(status)});
    } else {
      ended_ = status;
      wait_until_ = Clock::now() + kPatience;
      command_ = -1;  // its number may be another's
    }
  }
}

bool Inner::IsOver() const {
  if (!ended_) return false;
  const bool alone = ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
  return alone || ::getpid() != 1 || Clock::now() >= wait_until_ || !HasLastReaders();
}

int Inner::ExitStatus() const {
  return WIFSIGNALED(*ended_) ? kSignalled + WTERMSIG(*ended_) : WEXITSTATUS(*ended_);
}

int Inner::Run() {
  if (!SendMessage(options_.channel, {SandboxMessage::Kind::kStarted, 0})) return kFailed;
  command_ = ::fork();
  if (command_ < 0) {
    std::perror("agentfs: fork");
    return kFailed;
  }
  if (command_ == 0) BecomeCommand(options_);
  struct pollfd waits[] = {{signals_.get(), POLLIN, 0}, {options_.channel, POLLIN, 0}};
  for (Reap(); !IsOver(); Reap()) {
    if (::poll(waits, 2, ended_ ? kLookMs : -1) < 0 && errno != EINTR) return kFailed;
    // The end of process 1 is the end of all others.
    if (waits[1].revents != 0 && !TakeMessage()) return kFailed;
    TakeSignals();
  }
  EndOthers();
  TellEnd();
  return ExitStatus();
}

void CloseAtExec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

}  // namespace

std::vector<std::string> InnerOptions::ToArguments() const {
  std::vector<std::string> words = {kInnerCommand,
                                    std::to_string(channel),
                                    std::to_string(program),
                                    std::to_string(error),
                                    std::to_string(signals.blocked),
                                    std::to_string(signals.ignored),
                                    directory,
                                    fallback};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

InnerOptions InnerOptions::FromArguments(const std::vector<std::string>& words) {
  InnerOptions options;
  if (words.size() <= kFixedArguments) return options;
  options.channel = std::atoi(words[1].c_str());
  options.program = std::atoi(words[2].c_str());
  options.error = std::atoi(words[3].c_str());
  options.signals.blocked = std::strtoull(words[4].c_str(), nullptr, 10);
  options.signals.ignored = std::strtoull(words[5].c_str(), nullptr, 10);
  options.directory = words[6];
  options.fallback = words[7];
  options.command.assign(words.begin() + kFixedArguments, words.end());
  return options;
}

int RunInner(const InnerOptions& options) {
  if (options.command.empty()) return kFailed;
  // Started by a descriptor, it would be called by its number.
  ::prctl(PR_SET_NAME, "agentfs");
  auto signals = CatchSignals();
  if (!signals.ok()) return kFailed;
  ::dup2(options.error, STDERR_FILENO);
  ::close(options.error);
  ::close(options.program);
  CloseAtExec(options.channel);
  OpenFirst(options.fallback);
  EnterDirectory(options);
  return Inner(options, std::move(*signals)).Run();
}

}  // namespace agentfs
