// SPDX-License-Identifier: Apache-2.0
#include "cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace agentfs::cli {
namespace {

std::string Wanted() {
  const char* chosen = std::getenv("PAGER");
  const std::string pager = chosen ? chosen : "less";
  return pager == "cat" ? "" : pager;
}

[[noreturn]] void Become(const std::string& pager, int input) {
  ::dup2(input, STDIN_FILENO);
  // As git has it: leave at once if it fits the screen, show colours, keep the screen.
  ::setenv("LESS", "FRX", 0);
  ::setenv("LV", "-c", 0);
  ::execl("/bin/sh", "sh", "-c", pager.c_str(), nullptr);
  ::_exit(127);
}

pid_t running_pager = 0;

// Who leaves the pager has seen enough: that is no failure.
void LeaveWithPager(int) {
  ::waitpid(running_pager, nullptr, 0);
  ::_exit(0);
}

}  // namespace

Pager::Pager() {
  const std::string pager = Wanted();
  if (pager.empty() || ::isatty(STDOUT_FILENO) != 1) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) Become(pager, ends[0]);
  ::close(ends[0]);
  if (pid_ > 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::signal(SIGINT, SIG_IGN);  // the pager's, while it runs
    running_pager = pid_;
    ::signal(SIGPIPE, LeaveWithPager);
  }
  ::close(ends[1]);
}

Pager::~Pager() {
  if (!running()) return;
  ::close(STDOUT_FILENO);  // the end of its input
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace agentfs::cli
