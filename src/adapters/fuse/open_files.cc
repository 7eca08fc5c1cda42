// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/open_files.h"

namespace agentfs::fuse {

uint64_t OpenFiles::Opened(const Caller& caller, FileSystem& fs, Node& node) {
  const uint64_t token = fs.NoteOpened(caller, node);
  if (token == 0) return 0;
  absl::MutexLock lock(&mu_);
  files_.try_emplace(token);
  return token;
}

void OpenFiles::Count(uint64_t handle, uint64_t read, uint64_t written) {
  if (handle == 0) return;
  absl::MutexLock lock(&mu_);
  const auto it = files_.find(handle);
  if (it == files_.end()) return;
  it->second.read += read;
  it->second.written += written;
}

void OpenFiles::Released(uint64_t handle, FileSystem& fs) {
  if (handle == 0) return;
  Moved moved;
  {
    absl::MutexLock lock(&mu_);
    const auto it = files_.find(handle);
    if (it == files_.end()) return;
    moved = it->second;
    files_.erase(it);
  }
  fs.NoteClosed(handle, moved.read, moved.written);
}

}  // namespace agentfs::fuse
