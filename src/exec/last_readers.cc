// SPDX-License-Identifier: Apache-2.0
#include "exec/last_readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "sys/fd.h"

namespace agentfs {
namespace {

// Ticks of a processor, 10 ms each.
constexpr unsigned long kHardlyAny = 3;

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

// A shell's child that runs but has not come to taking its input yet. One that computes in the
// background has run for longer.
bool HasHardlyBegun(const std::string& process) {
  const auto file = OpenAt(AT_FDCWD, "/proc/" + process + "/stat", O_RDONLY);
  char text[512] = {};
  if (!file.ok() || !ReadAt(file->get(), 0, {text, sizeof(text) - 1}).ok()) return false;
  const char* after_name = std::strrchr(text, ')');
  char state = 0;
  unsigned long user = 0, system = 0;
  if (after_name == nullptr ||
      std::sscanf(after_name, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user,
                  &system) != 3) {
    return false;
  }
  return (state == 'R' || state == 'D') && user + system < kHardlyAny;
}

}  // namespace

bool HasLastReaders() {
  const std::string self = std::to_string(::getpid()), ours = PipeAt(InputOf(self));
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  while (const dirent* entry = processes ? ::readdir(processes.get()) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const std::string process = entry->d_name, input = InputOf(process);
    if (process == self) continue;
    const std::string pipe = PipeAt(input);
    if (!pipe.empty() && pipe != ours && HasNoWriter(input)) return true;
    if (HasHardlyBegun(process)) return true;
  }
  return false;
}

}  // namespace agentfs
