// SPDX-License-Identifier: Apache-2.0
#include "cli/own_program.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fd.h"

namespace agentfs::cli {
namespace {

constexpr int kSignalStatus = 128;

// A server blocks and ignores signals; its child shall not.
Result<pid_t> SpawnSelf(const std::vector<std::string>& arguments, const Streams& streams) {
  std::vector<std::string> words = {"agentfs"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, streams.out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) return Error(failed).WithContext("starting agentfs");
  return pid;
}

// Whether the process ended before `stop` was triggered.
bool WaitForProcess(pid_t pid, std::stop_token stop) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const Fd wake(::eventfd(0, EFD_CLOEXEC));
  std::stop_callback callback(std::move(stop), [&] { (void)::eventfd_write(wake.get(), 1); });
  struct pollfd waits[] = {{process.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}};
  while (process && ::poll(waits, 2, -1) < 0 && errno == EINTR) {
  }
  return !process || waits[0].revents != 0;
}

}  // namespace

Result<int> RunOwnProgram(const std::vector<std::string>& arguments, const Streams& streams,
                          std::stop_token stop) {
  AGENTFS_ASSIGN(const pid_t pid, SpawnSelf(arguments, streams));
  const bool ended = WaitForProcess(pid, std::move(stop));
  if (!ended) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return Error(ECANCELED);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalStatus + WTERMSIG(status);
}

}  // namespace agentfs::cli
