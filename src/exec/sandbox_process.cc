// SPDX-License-Identifier: Apache-2.0
#include "exec/sandbox_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "exec/bubblewrap.h"
#include "exec/inner.h"
#include "exec/inner_program.h"
#include "exec/terminal_filter.h"

namespace agentfs {
namespace {

constexpr size_t kMaxWords = 4096;

// Descriptors that the other side gets, by their numbers here; closed at our own exec otherwise.
struct Handed {
  Fd channel, program, error, filter, words;
};

Result<Handed> MakeDescriptors(const SandboxStart& start, const std::string& inner,
                               SandboxProcess& ours) {
  Handed handed;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoError();
  ours.channel = Fd(ends[0]);
  handed.channel = Fd(ends[1]);
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoError();
  ours.words = Fd(ends[0]);
  handed.words = Fd(ends[1]);
  AGENTFS_ASSIGN(handed.program, OpenInnerProgram(inner));
  AGENTFS_ASSIGN(handed.filter, MakeTerminalFilter());
  const int error = start.err < 0 ? STDERR_FILENO : start.err;
  handed.error = Fd(::fcntl(error, F_DUPFD_CLOEXEC, 3));
  if (!handed.error) {
    AGENTFS_ASSIGN(handed.error, OpenAt(AT_FDCWD, "/dev/null", O_RDWR));
  }
  return handed;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

std::vector<std::string> CommandEnvironment(const SandboxedCommand& command) {
  const std::vector<std::string>& added = command.environment;
  std::vector<std::string> all = added;
  std::vector<std::string> inherited = command.inherited ? *command.inherited : OwnEnvironment();
  for (std::string& variable : inherited) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& each) {
      return each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=';
    });
    if (!replaced) all.push_back(std::move(variable));
  }
  return all;
}

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

// Does not copy this process's memory, however large it is.
class Spawner {
 public:
  Spawner() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~Spawner() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // To the same number: open in the child.
  void Hand(int fd, int as) { ::posix_spawn_file_actions_adddup2(&actions_, fd, as); }
  void StartSession() { ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID); }
  Result<pid_t> Start(std::vector<std::string>& arguments, std::vector<std::string>& environment) {
    pid_t pid = 0;
    const int failed = ::posix_spawn(&pid, arguments.front().c_str(), &actions_, &attributes_,
                                     Pointers(arguments).data(), Pointers(environment).data());
    if (failed != 0) return Error(failed).WithContext("starting bubblewrap");
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<SandboxProcess> SandboxProcess::Start(const SandboxedCommand& command,
                                             const SandboxStart& start) {
  SandboxProcess process;
  AGENTFS_ASSIGN(const Handed handed, MakeDescriptors(start, command.inner_program, process));
  std::vector<std::string> arguments = ArgumentsFor(command, handed, start.signals);
  std::vector<std::string> environment = CommandEnvironment(command);
  Spawner spawner;
  for (const Fd* fd : {&handed.channel, &handed.program, &handed.error, &handed.filter}) {
    spawner.Hand(fd->get(), fd->get());
  }
  if (start.in >= 0) spawner.Hand(start.in, STDIN_FILENO);
  if (start.out >= 0) spawner.Hand(start.out, STDOUT_FILENO);
  spawner.Hand(handed.words.get(), STDERR_FILENO);
  if (start.own_session) spawner.StartSession();
  AGENTFS_ASSIGN(process.pid, spawner.Start(arguments, environment));
  return process;
}

Error SandboxProcess::Failure(int status) const {
  std::string text(kMaxWords, '\0');
  const ssize_t n = ::read(words.get(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return Error(EPERM,
               "the sandbox cannot be had: " +
                   (text.empty() ? "bubblewrap ended with status " + std::to_string(status) : text),
               RemedyForBubblewrap(text));
}

}  // namespace agentfs
