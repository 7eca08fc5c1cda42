// SPDX-License-Identifier: Apache-2.0
//
// Punching and cloning ranges of host files, with what to do where the host cannot.
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr uint64_t kCopyBuffer = 256 << 10;
// The smallest block of the filesystems that share blocks; unaligned ends are copied.
constexpr uint64_t kCloneAlignment = 4096;
constexpr uint64_t kMaxOffset = INT64_MAX;

bool IsUnsupported(int error) {
  return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == EXDEV ||
         error == ENOTTY || error == EPERM || error == EBADF || error == ETXTBSY;
}

Result<void> WriteZeros(int fd, uint64_t offset, uint64_t length) {
  std::vector<char> zeros(std::min(length, kCopyBuffer), 0);
  while (length > 0) {
    uint64_t step = std::min<uint64_t>(length, zeros.size());
    AGENTFS_TRY(WriteAt(fd, offset, {zeros.data(), step}));
    offset += step;
    length -= step;
  }
  return Ok();
}

// FICLONERANGE of a range; false where the host cannot.
Result<bool> TryClone(int source, uint64_t source_offset, int target, uint64_t target_offset,
                      uint64_t length) {
  struct file_clone_range range = {};
  range.src_fd = source;
  range.src_offset = source_offset;
  range.src_length = length;
  range.dest_offset = target_offset;
  while (::ioctl(target, FICLONERANGE, &range) != 0) {
    if (errno == EINTR) continue;
    if (IsUnsupported(errno)) return false;
    return ErrnoError();
  }
  return true;
}

Result<void> CopyThroughMemory(int source, uint64_t source_offset, int target,
                               uint64_t target_offset, uint64_t length) {
  std::vector<char> buffer(std::min(length, kCopyBuffer));
  while (length > 0) {
    uint64_t step = std::min<uint64_t>(length, buffer.size());
    AGENTFS_ASSIGN(size_t n, ReadAt(source, source_offset, {buffer.data(), step}));
    if (n == 0) return PunchRange(target, target_offset, length);
    AGENTFS_TRY(WriteAt(target, target_offset, {buffer.data(), n}));
    source_offset += n;
    target_offset += n;
    length -= n;
  }
  return Ok();
}

Result<void> CopyData(int source, uint64_t source_offset, int target, uint64_t target_offset,
                      uint64_t length) {
  while (length > 0) {
    loff_t in = static_cast<loff_t>(source_offset);
    loff_t out = static_cast<loff_t>(target_offset);
    ssize_t n = ::copy_file_range(source, &in, target, &out, length, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && !IsUnsupported(errno)) return ErrnoError();
    // 0 is the end of the source, or a filesystem (proc, fuse) that cannot tell; reading says
    // which.
    if (n <= 0) return CopyThroughMemory(source, source_offset, target, target_offset, length);
    source_offset += static_cast<uint64_t>(n);
    target_offset += static_cast<uint64_t>(n);
    length -= static_cast<uint64_t>(n);
  }
  return Ok();
}

// The data segment at or after `offset`; {end, end} when only holes are left.
std::pair<uint64_t, uint64_t> NextData(int fd, uint64_t offset, uint64_t end) {
  off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? std::pair(end, end) : std::pair(offset, end);
  if (static_cast<uint64_t>(data) >= end) return {end, end};
  off_t hole = ::lseek(fd, data, SEEK_HOLE);
  uint64_t stop = hole < 0 ? end : std::min(end, static_cast<uint64_t>(hole));
  return {static_cast<uint64_t>(data), stop};
}

// Copies data and leaves holes holes.
Result<void> CopySparse(int source, uint64_t source_offset, int target, uint64_t target_offset,
                        uint64_t length) {
  const uint64_t end = source_offset + length;
  for (uint64_t position = source_offset; position < end;) {
    auto [data, stop] = NextData(source, position, end);
    uint64_t at = target_offset + (position - source_offset);
    if (data > position) AGENTFS_TRY(PunchRange(target, at, data - position));
    if (stop > data) {
      AGENTFS_TRY(CopyData(source, data, target, at + (data - position), stop - data));
    }
    position = stop;
  }
  return Ok();
}

}  // namespace

Result<void> PunchRange(int fd, uint64_t offset, uint64_t length) {
  AGENTFS_ASSIGN(struct stat st, StatFd(fd));
  const uint64_t size = static_cast<uint64_t>(st.st_size);
  if (length == 0 || offset >= size) return Ok();  // past the end there are only zeros
  length = std::min(length, size - offset);
  while (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(length)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return WriteZeros(fd, offset, length);
    return ErrnoError();
  }
  return Ok();
}

Result<bool> CloneOrCopyRange(int source, uint64_t source_offset, int target,
                              uint64_t target_offset, uint64_t length) {
  if (length == 0) return false;
  if (source_offset > kMaxOffset - length || target_offset > kMaxOffset - length) {
    return Error(EFBIG);
  }
  AGENTFS_ASSIGN(bool whole, TryClone(source, source_offset, target, target_offset, length));
  if (whole) return true;

  const uint64_t aligned = length - length % kCloneAlignment;
  if (aligned > 0 && aligned < length) {
    AGENTFS_ASSIGN(bool most, TryClone(source, source_offset, target, target_offset, aligned));
    if (most) {
      AGENTFS_TRY(CopySparse(source, source_offset + aligned, target, target_offset + aligned,
                             length - aligned));
      return true;
    }
  }
  AGENTFS_TRY(CopySparse(source, source_offset, target, target_offset, length));
  return false;
}

}  // namespace agentfs
