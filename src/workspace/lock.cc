// SPDX-License-Identifier: Apache-2.0
#include "workspace/lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace agentfs {
namespace {

using Clock = std::chrono::steady_clock;

Error HeldBy(const Fd& fd, const std::string& file) {
  std::string pid(20, '\0');
  auto size = ReadAt(fd.get(), 0, pid);
  pid.resize(size.ok() ? *size : 0);
  pid.resize(std::min(pid.find('\n'), pid.size()));
  if (pid.empty()) pid = "unknown";
  return Error(EBUSY, fmt::format("{}: the workspace is in use by process {}", file, pid),
               "wait for it to end, or end it");
}

// Whether `file` still is what was opened: its last holder may have removed it since.
bool IsCurrent(const Fd& fd, const std::string& file) {
  struct stat by_name;
  auto opened = StatFd(fd.get());
  return opened.ok() && ::stat(file.c_str(), &by_name) == 0 && by_name.st_ino == opened->st_ino &&
         by_name.st_dev == opened->st_dev;
}

}  // namespace

Result<WorkspaceLock> WorkspaceLock::Acquire(const std::string& file, uint32_t timeout_ms,
                                             After after) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (auto pause = std::chrono::milliseconds(1);;) {
    auto fd = OpenAt(AT_FDCWD, file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!fd.ok()) return fd.error().WithContext("cannot lock the workspace with " + file);
    if (::flock(fd->get(), LOCK_EX | LOCK_NB) == 0) {
      if (!IsCurrent(*fd, file)) continue;
      const std::string pid = std::to_string(::getpid()) + "\n";
      if (::ftruncate(fd->get(), 0) != 0) return ErrnoError().WithContext(file);
      AGENTFS_TRY(WriteAt(fd->get(), 0, pid));
      return WorkspaceLock(file, std::move(fd).value(), after);
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrnoError().WithContext(file);
    if (Clock::now() >= deadline) return HeldBy(*fd, file);
    // flock has no timeout of its own.
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
}

WorkspaceLock::~WorkspaceLock() {
  if (fd_ && after_ == After::kRemoveFile) ::unlink(file_.c_str());
}

}  // namespace agentfs
