// SPDX-License-Identifier: Apache-2.0
//
// A host file descriptor with an owner, and system calls that answer with a Result.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "agentfs/result.h"

namespace agentfs {

// Owns a descriptor and closes it; -1 is "none". Moving hands it over.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { Reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset();  // keeps errno

 private:
  int fd_ = -1;
};

// The error that errno names.
Error ErrnoError();

// open(2) family, always with O_CLOEXEC, repeated after EINTR.
Result<Fd> OpenAt(int directory, const std::string& path, int flags, mode_t mode = 0);
// openat2(2), paths of any length; `resolve` as there. A race with a rename (EAGAIN) is tried
// again.
Result<Fd> OpenBeneath(int directory, const std::string& path, int flags, uint64_t resolve);

// How many descriptors a cache may keep open: a sixth of what the process may, within reason. There
// are three (objects, base files, processes); the rest is for connections, threads and the store.
size_t DescriptorBudget();

Result<struct stat> StatFd(int fd);
Result<void> SyncFd(int fd);            // fsync
Result<void> SyncDataFd(int fd);        // fdatasync
Result<void> SyncFileSystemOf(int fd);  // syncfs

// Reads until `out` is full or the file ends; the bytes read.
Result<size_t> ReadAt(int fd, uint64_t offset, std::span<char> out);
Result<void> WriteAt(int fd, uint64_t offset, std::span<const char> data);

// Makes the range read as zeros, freeing its space where the host can; the size stays.
Result<void> PunchRange(int fd, uint64_t offset, uint64_t length);

// Makes target[target_offset, +length) equal to source[source_offset, +length), sharing the blocks
// where the host can; what lies past the source's end reads as zeros. Returns whether it was
// shared. Both descriptors stay the caller's; the source's own file offset may move.
Result<bool> CloneOrCopyRange(int source, uint64_t source_offset, int target,
                              uint64_t target_offset, uint64_t length);

}  // namespace agentfs
