// SPDX-License-Identifier: Apache-2.0
#include "served_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/time/time.h"
#include "adapters/fuse/transport/connection.h"
#include "adapters/fuse/transport/uring_switch.h"

namespace agentfs::fuse::test {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

void AbortMount(const std::string& path) {
  ::umount2(path.c_str(), MNT_FORCE | MNT_DETACH | UMOUNT_NOFOLLOW);
}

}  // namespace

ScratchPoint::ScratchPoint() {
  std::string name = std::filesystem::temp_directory_path().string() + "/agentfs-fuse-XXXXXX";
  path_ = std::filesystem::canonical(::mkdtemp(name.data())).string();
}

ScratchPoint::~ScratchPoint() {
  AbortMount(path_);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Watchdog::Watchdog(std::string path)
    : thread_([this, path = std::move(path)] {
        if (done_.WaitForNotificationWithTimeout(kPatience)) return;
        ADD_FAILURE() << "took too long; the connection is aborted";
        AbortMount(path);
      }) {}

Watchdog::~Watchdog() {
  done_.Notify();
  thread_.join();
}

std::string WhyNot(Way way) {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return "no /dev/fuse that this user may open";
  if (::geteuid() != 0) return "mounting directly needs root";
  if (way == Way::kUring && !UringSwitch::TurnOn().on()) return "no FUSE over io_uring here";
  return "";
}

Result<std::unique_ptr<ServedMount>> ServedMount::Start(Handler& handler,
                                                        const ServedOptions& options) {
  std::unique_ptr<ServedMount> served(new ServedMount);
  served->watchdog_.emplace(served->root());
  Wanted wanted = options.wanted;
  if (options.way == Way::kUring) wanted.features = wanted.features.With(Feature::kOverIoUring);
  AGENTFS_ASSIGN(Connection made, Connect(served->root(), options.mount, wanted));
  served->point_.emplace(std::move(made.point));
  served->capabilities_ = made.agreed;
  const int device = served->point_->device();
  AGENTFS_ASSIGN(served->transport_,
                 StartTransport(device, served->capabilities_, handler, options.transport));
  return served;
}

ServedMount::~ServedMount() {
  if (point_) static_cast<void>(point_->Unmount(UnmountMode::kForced).ok());
}

Result<std::string> ReadWhole(const std::string& path) {
  AGENTFS_ASSIGN(Fd file, OpenAt(AT_FDCWD, path, O_RDONLY));
  AGENTFS_ASSIGN(const struct stat attributes, StatFd(file.get()));
  std::string content(static_cast<size_t>(attributes.st_size), '\0');
  AGENTFS_ASSIGN(const size_t size, ReadAt(file.get(), 0, content));
  content.resize(size);
  return content;
}

Result<void> WriteWhole(const std::string& path, const std::string& content) {
  AGENTFS_ASSIGN(Fd file, OpenAt(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  return WriteAt(file.get(), 0, content);
}

}  // namespace agentfs::fuse::test
