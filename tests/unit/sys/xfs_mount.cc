// SPDX-License-Identifier: Apache-2.0
#include "xfs_mount.h"

#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>

namespace agentfs {
namespace {

bool Shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

void XfsMountTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  WriteHostFile(host_ / "disk", "");
  ASSERT_EQ(::truncate((host_ / "disk").c_str(), 400 << 20), 0);
  MakeHostDirectory(mount_);
  if (!Shell("PATH=$PATH:/usr/sbin:/sbin mkfs.xfs -q -m reflink=1 '" + (host_ / "disk") + "'")) {
    GTEST_SKIP() << "mkfs.xfs does not work here";
  }
  // mount(8) makes the loop device and umount(2) frees it again (autoclear).
  if (!Shell("mount -o loop '" + (host_ / "disk") + "' '" + mount_ + "'")) {
    GTEST_SKIP() << "a loop mount of XFS does not work here";
  }
  mounted_ = true;
}

void XfsMountTest::TearDown() {
  if (mounted_) {
    EXPECT_EQ(::umount2(mount_.c_str(), 0), 0);
  }
}

uint64_t XfsMountTest::FreeBytes() const {
  struct statvfs fs = {};
  ::sync();
  EXPECT_EQ(::statvfs(mount_.c_str(), &fs), 0);
  return uint64_t{fs.f_bfree} * fs.f_frsize;
}

}  // namespace agentfs
