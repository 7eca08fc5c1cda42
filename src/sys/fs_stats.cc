// SPDX-License-Identifier: Apache-2.0
#include "sys/fs_stats.h"

#include <sys/statvfs.h>

namespace agentfs {
namespace {

FsStats ToFsStats(const struct statvfs& host) {
  FsStats stats;
  stats.block_size = host.f_frsize;
  stats.blocks = host.f_blocks;
  stats.blocks_free = host.f_bfree;
  stats.blocks_available = host.f_bavail;
  stats.files = host.f_files;
  stats.files_free = host.f_ffree;
  return stats;
}

}  // namespace

Result<FsStats> HostFsStats(const std::string& path) {
  struct statvfs host {};
  if (::statvfs(path.c_str(), &host) != 0) return Error(errno);
  return ToFsStats(host);
}

Result<FsStats> HostFsStats(int fd) {
  struct statvfs host {};
  if (::fstatvfs(fd, &host) != 0) return Error(errno);
  return ToFsStats(host);
}

}  // namespace agentfs
