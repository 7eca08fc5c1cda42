// SPDX-License-Identifier: Apache-2.0
#include "mount_rig.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace agentfs::posix {

std::string WhyNoMounts() {
  const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return "/dev/fuse cannot be opened here";
  ::close(device);
  if (::geteuid() != 0) return "these tests mount as root";
  return "";
}

Result<std::unique_ptr<MountRig>> MountRig::Start(Volume& volume, const std::string& place,
                                                  MountRigOptions options) {
  fuse::MountSource source;
  source.volume = &volume;
  if (!options.snapshot.empty()) {
    source.view_name = options.snapshot;
    AGENTFS_ASSIGN(source.view, volume.OpenSnapshot(options.snapshot));
  } else if (!options.all_branches) {
    source.view_name = options.branch;
    AGENTFS_ASSIGN(source.view, volume.OpenBranch(options.branch));
  }
  options.serve.mount_point = place;
  options.serve.mount.allow_other = true;
  AGENTFS_ASSIGN(auto mount, fuse::Mount::Start(std::move(source), std::move(options.serve)));
  return std::unique_ptr<MountRig>(new MountRig(place, std::move(mount)));
}

MountRig::~MountRig() = default;

uint64_t MountRig::Count(std::string_view operation) const {
  for (const fuse::OperationCount& count : mount_->Stats().operations) {
    if (count.operation == operation) return count.count;
  }
  return 0;
}

uint64_t MountRig::AllRequests() const {
  uint64_t sum = 0;
  for (const fuse::OperationCount& count : mount_->Stats().operations) sum += count.count;
  return sum;
}

// ---- watchdog

struct Watchdog::State {
  std::mutex mu;
  std::condition_variable changed;
  bool done = false;
  std::thread thread;
};

Watchdog::Watchdog(std::string mount_point, int seconds) : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get(), path = std::move(mount_point), seconds] {
    std::unique_lock<std::mutex> lock(state->mu);
    if (state->changed.wait_for(lock, std::chrono::seconds(seconds), [&] { return state->done; })) {
      return;
    }
    std::fprintf(stderr, "the mount at %s hangs; giving up\n", path.c_str());
    ::umount2(path.c_str(), MNT_FORCE | MNT_DETACH);
    ::_exit(1);
  });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(state_->mu);
    state_->done = true;
  }
  state_->changed.notify_one();
  state_->thread.join();
}

}  // namespace agentfs::posix
