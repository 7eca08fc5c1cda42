// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/spill_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace agentfs {

SpillFile::~SpillFile() {
  if (fd_ >= 0) ::close(fd_);
}

Error SpillFile::IoError(const char* what, int code) const {
  std::string remedy =
      code == ENOSPC ? "free space in '" + directory_ + "' or raise the memory budget" : "";
  return Error(code,
               std::string(what) + " the spill file in '" + directory_ +
                   "': " + std::generic_category().message(code),
               std::move(remedy));
}

Result<void> SpillFile::OpenFile() {
  if (fd_ >= 0) return Ok();
  fd_ = ::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return Ok();
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
    return IoError("cannot create", errno);
  }
  std::string path = directory_ + "/agentfs-spill-XXXXXX";
  fd_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) return IoError("cannot create", errno);
  ::unlink(path.c_str());
  return Ok();
}

void SpillFile::InsertFree(uint64_t offset, uint64_t size) {
  free_by_offset_.emplace(offset, size);
  free_by_size_.emplace(size, offset);
}

void SpillFile::EraseFree(std::map<uint64_t, uint64_t>::iterator it) {
  free_by_size_.erase({it->second, it->first});
  free_by_offset_.erase(it);
}

uint64_t SpillFile::Allocate(uint64_t size) {
  const auto best = free_by_size_.lower_bound({size, 0});
  if (best == free_by_size_.end()) {
    const uint64_t offset = end_;
    end_ += size;
    return offset;
  }
  const auto [found_size, offset] = *best;
  EraseFree(free_by_offset_.find(offset));
  if (found_size > size) InsertFree(offset + size, found_size - size);
  return offset;
}

void SpillFile::Release(uint64_t offset, uint64_t size) {
  if (size == 0) return;
  auto next = free_by_offset_.lower_bound(offset);
  if (next != free_by_offset_.end() && next->first == offset + size) {
    size += next->second;
    EraseFree(next++);
  }
  if (next != free_by_offset_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      EraseFree(before);
    }
  }
  if (offset + size < end_) {
    InsertFree(offset, size);
    return;
  }
  end_ = offset;
  // Failing to give the end back only costs disk space.
  if (::ftruncate(fd_, static_cast<off_t>(end_)) != 0) return;
}

Result<uint64_t> SpillFile::Write(std::string_view bytes) {
  AGENTFS_TRY(OpenFile());
  const uint64_t offset = Allocate(bytes.size());
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n > 0) {
      done += n;
    } else if (n == 0 || errno != EINTR) {
      const int code = n == 0 ? ENOSPC : errno;
      Release(offset, bytes.size());
      return IoError("cannot write to", code);
    }
  }
  return offset;
}

Result<Buffer> SpillFile::Read(uint64_t offset, uint32_t size) const {
  Buffer buffer = Buffer::Allocate(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd_, buffer.mutable_data() + done, size - done, static_cast<off_t>(offset + done));
    if (n > 0) {
      done += n;
    } else if (n == 0 || errno != EINTR) {
      return IoError("cannot read from", n == 0 ? EIO : errno);
    }
  }
  return buffer;
}

}  // namespace agentfs
