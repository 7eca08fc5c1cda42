// SPDX-License-Identifier: Apache-2.0
#include "device_mode.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace agentfs::fuse::test {
namespace {

constexpr char kDevice[] = "/dev/fuse";

}  // namespace

DeviceMode::DeviceMode(mode_t mode) {
  const std::string file =
      std::filesystem::temp_directory_path().string() + "/agentfs-test-device.lock";
  lock_ = Fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (::flock(lock_.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  // What a test that was killed has left behind is not the mode to go back to.
  char kept[8] = {};
  if (::pread(lock_.get(), kept, sizeof(kept) - 1, 0) > 0) {
    before_ = static_cast<mode_t>(std::strtoul(kept, nullptr, 8));
  } else {
    struct stat attributes {};
    ::stat(kDevice, &attributes);
    before_ = attributes.st_mode & 07777;
    ::dprintf(lock_.get(), "%o", before_);
  }
  ::chmod(kDevice, mode);
}

DeviceMode::~DeviceMode() {
  ::chmod(kDevice, before_);
  if (::ftruncate(lock_.get(), 0) != 0) ADD_FAILURE() << "cannot empty the lock's file";
}

}  // namespace agentfs::fuse::test
