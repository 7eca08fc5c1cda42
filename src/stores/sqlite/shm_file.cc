// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/shm_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "sys/fd.h"

namespace agentfs {

void KeepShmInPlace(const std::string& file) {
  struct statfs host;
  struct stat database;
  if (::statfs(file.c_str(), &host) != 0 || host.f_type != BTRFS_SUPER_MAGIC) return;
  if (::stat(file.c_str(), &database) != 0) return;
  const auto shm = OpenAt(AT_FDCWD, file + "-shm", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                          database.st_mode & 0777);
  if (!shm.ok()) return;
  int flags = 0;
  if (::ioctl(shm->get(), FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  (void)::ioctl(shm->get(), FS_IOC_SETFLAGS, &flags);
}

}  // namespace agentfs
