// SPDX-License-Identifier: Apache-2.0
//
// A volume that is mounted, served by threads of this process. What uses the mount are the test's
// own threads and its children, which are started by exec and so hold nothing of the server.
#pragma once

#include <memory>
#include <string>

#include "adapters/fuse/mount.h"
#include "agentfs/result.h"
#include "volume_rig.h"

namespace agentfs::posix {

// Why this process cannot mount; empty: it can.
std::string WhyNoMounts();

struct MountRigOptions {
  fuse::ServeOptions serve;  // the mount point is set by the rig
  std::string branch = "main";
  std::string snapshot;       // instead of the branch
  bool all_branches = false;  // the session's root
};

// Unmounts by force at the end, whatever happened, so that nothing can hang on it.
class MountRig {
 public:
  // `place` is an empty directory. The volume outlives the rig.
  static Result<std::unique_ptr<MountRig>> Start(Volume& volume, const std::string& place,
                                                 MountRigOptions options = {});
  ~MountRig();

  const std::string& path() const { return path_; }
  fuse::Mount& mount() { return *mount_; }
  // How often the kernel has asked for an operation so far.
  uint64_t Count(std::string_view operation) const;
  uint64_t AllRequests() const;

 private:
  MountRig(std::string path, std::unique_ptr<fuse::Mount> mount)
      : path_(std::move(path)), mount_(std::move(mount)) {}

  const std::string path_;
  std::unique_ptr<fuse::Mount> mount_;
};

// Ends the process, after it has unmounted by force, if it is not destroyed in time.
class Watchdog {
 public:
  explicit Watchdog(std::string mount_point, int seconds = 60);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agentfs::posix
