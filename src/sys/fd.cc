// SPDX-License-Identifier: Apache-2.0
#include "sys/fd.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace agentfs {
namespace {

// A rename somewhere in the path makes openat2 give up with EAGAIN; one that never ends is an
// attack or a very busy tree, and an error then.
constexpr int kMaxRaces = 1000;
constexpr size_t kSmallestBudget = 4;
constexpr size_t kLargestBudget = 256;

Result<Fd> OpenAtOnce(int directory, const std::string& path, int flags, uint64_t resolve) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.resolve = resolve;
  for (int races = 0;;) {
    long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how));
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if (errno == EINTR) continue;
    // With RESOLVE_CACHED it is the answer that the disk is needed.
    const bool race = errno == EAGAIN && (resolve & RESOLVE_CACHED) == 0;
    if (!race || ++races >= kMaxRaces) return ErrnoError();
  }
}

}  // namespace

void Fd::Reset() {
  if (fd_ < 0) return;
  int saved = errno;
  ::close(fd_);
  errno = saved;
  fd_ = -1;
}

Error ErrnoError() { return Error(errno); }

Result<Fd> OpenAt(int directory, const std::string& path, int flags, mode_t mode) {
  for (;;) {
    int fd = ::openat(directory, path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0) return Fd(fd);
    if (errno != EINTR) return ErrnoError();
  }
}

Result<Fd> OpenBeneath(int directory, const std::string& path, int flags, uint64_t resolve) {
  // The kernel takes at most PATH_MAX bytes at once; a longer path is walked in several steps.
  Fd step;
  size_t done = 0;
  while (path.size() - done >= PATH_MAX) {
    const size_t cut = path.rfind('/', done + PATH_MAX - 2);
    if (cut == path.npos || cut <= done) return Error(ENAMETOOLONG);
    AGENTFS_ASSIGN(Fd next, OpenAtOnce(directory, path.substr(done, cut - done),
                                       O_PATH | O_DIRECTORY | O_NOFOLLOW, resolve));
    step = std::move(next);
    directory = step.get();
    done = cut + 1;
  }
  return OpenAtOnce(directory, done == 0 ? path : path.substr(done), flags, resolve);
}

size_t DescriptorBudget() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kSmallestBudget;
  return std::clamp<size_t>(limit.rlim_cur / 6, kSmallestBudget, kLargestBudget);
}

Result<struct stat> StatFd(int fd) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return ErrnoError();
  return st;
}

Result<void> SyncFd(int fd) {
  if (::fsync(fd) != 0) return ErrnoError();
  return Ok();
}

Result<void> SyncDataFd(int fd) {
  if (::fdatasync(fd) != 0) return ErrnoError();
  return Ok();
}

Result<void> SyncFileSystemOf(int fd) {
  if (::syncfs(fd) != 0) return ErrnoError();
  return Ok();
}

Result<size_t> ReadAt(int fd, uint64_t offset, std::span<char> out) {
  size_t done = 0;
  while (done < out.size()) {
    ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError();
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Result<void> WriteAt(int fd, uint64_t offset, std::span<const char> data) {
  size_t done = 0;
  while (done < data.size()) {
    ssize_t n =
        ::pwrite(fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError();
    if (n == 0) return Error(EIO);
    done += static_cast<size_t>(n);
  }
  return Ok();
}

}  // namespace agentfs
