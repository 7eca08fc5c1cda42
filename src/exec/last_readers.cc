// SPDX-License-Identifier: Apache-2.0
#include "exec/last_readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cctype>
#include <memory>
#include <string>

#include "sys/fd.h"

namespace agentfs {
namespace {

std::string InputOf(const std::string& process) { return "/proc/" + process + "/fd/0"; }

// As the kernel names it, "pipe:[NUMBER]"; empty: no pipe, or not ours to look at.
std::string PipeAt(const std::string& path) {
  char target[64];
  const ssize_t n = ::readlink(path.c_str(), target, sizeof(target));
  const std::string name(target, n > 0 ? static_cast<size_t>(n) : 0);
  return name.starts_with("pipe:") ? name : std::string();
}

bool HasNoWriter(const std::string& path) {
  const Fd pipe(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct pollfd look = {pipe.get(), POLLIN, 0};
  return pipe && ::poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0;
}

}  // namespace

bool HasLastReaders() {
  const std::string ours = PipeAt(InputOf("self"));
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  while (const dirent* entry = processes ? ::readdir(processes.get()) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const std::string input = InputOf(entry->d_name);
    const std::string pipe = PipeAt(input);
    if (!pipe.empty() && pipe != ours && HasNoWriter(input)) return true;
  }
  return false;
}

}  // namespace agentfs
