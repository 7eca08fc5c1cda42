// SPDX-License-Identifier: Apache-2.0
//
// Mounting and unmounting a FUSE filesystem of ours at a directory of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::fuse {

inline constexpr char kFilesystemType[] = "fuse.agentfs";

enum class MountMethod : uint8_t {
  kAny,     // kDirect where that is allowed, else kHelper
  kDirect,  // mount(2): needs CAP_SYS_ADMIN, perhaps only in a user namespace of one's own
  kHelper,  // fusermount3, the setuid program of the package fuse3
};

struct MountOptions {
  MountMethod method = MountMethod::kAny;
  std::string source = "agentfs";  // what `mount` and `df` show
  bool read_only = false;
  bool allow_other = false;  // other users than the one who mounts
  bool default_permissions = true;
  uint32_t max_read = 1 << 20;
};

enum class UnmountMode : uint8_t {
  kPlain,  // EBUSY while something uses it
  kLazy,   // leaves the path at once; the filesystem goes when its last user does
  // As kLazy, and the connection is aborted: users get errors. Only as root; else as kLazy.
  kForced,
};

// A mounted filesystem and the descriptor of /dev/fuse through which it is served. Always nosuid,
// nodev and noatime: reads that the kernel answers itself are not heard of. One thread at a time.
class MountPoint {
 public:
  // `path` is an existing directory; it need not be empty, what is in it is hidden meanwhile.
  // Errors have a remedy: ENOENT or ENOTDIR (the path), ENODEV (no /dev/fuse), EACCES or EPERM
  // (not allowed to), ENOTCONN (a dead mount is in the way: RemoveDeadMount). The kernel's INIT
  // waits to be answered when this returns.
  static Result<MountPoint> Mount(const std::string& path, const MountOptions& options);

  MountPoint(MountPoint&& other) noexcept;
  MountPoint& operator=(MountPoint&&) = delete;
  ~MountPoint();  // unmounts by force if it still is mounted

  const std::string& path() const { return path_; }  // absolute, without symbolic links
  int device() const { return device_.get(); }
  MountMethod method() const { return method_; }
  // Of the kernel's connection: /sys/fs/fuse/connections/N.
  uint32_t connection() const { return connection_; }

  // No error if somebody else has unmounted it. EBUSY if it is in use, or if something else is
  // mounted over it.
  Result<void> Unmount(UnmountMode mode);
  bool IsMounted() const;

  // Closes the descriptor; once no transport has a copy of it either, everything that still uses
  // the filesystem gets ENOTCONN.
  void CloseDevice() { device_.Reset(); }

 private:
  MountPoint(std::string path, Fd device, MountMethod method)
      : path_(std::move(path)), device_(std::move(device)), method_(method) {}

  std::string path_;
  Fd device_;
  MountMethod method_;
  uint64_t mount_id_ = 0;    // 0: not mounted (any more)
  uint64_t lasting_id_ = 0;  // 0: the kernel cannot be asked for one mount
  uint32_t connection_ = 0;
};

enum class PathState : uint8_t {
  kPlain,    // nothing of ours is mounted there
  kMounted,  // ours, and a server holds it
  kDead,     // ours, and its server is gone: ENOTCONN
};

// What is at a path. Asks a living server nothing that it could hang on, except for whether its
// root is there.
PathState StateOfPath(const std::string& path);

// Unmounts a dead filesystem of ours; true if there was one. Anything else stays.
Result<bool> RemoveDeadMount(const std::string& path);

}  // namespace agentfs::fuse
