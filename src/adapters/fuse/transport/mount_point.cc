// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/mount_point.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "adapters/fuse/transport/mount_helper.h"
#include "sys/mount_query.h"
#include "sys/mount_table.h"

namespace agentfs::fuse {
namespace {

constexpr int kMostStackedMounts = 64;
constexpr int kMostQuestions = 100;

Error CannotMount(const std::string& path, int code, std::string_view why, std::string remedy) {
  return Error(code, fmt::format("cannot mount at {}: {}", path, why), std::move(remedy));
}

Result<std::string> RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) return ErrnoError();
  return std::string(resolved);
}

// Where a mount at `path` appears in the mount table, even if it is dead.
std::string PointOf(std::string path) {
  if (auto real = RealPath(path); real.ok()) return *real;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  auto real = RealPath(parent);
  if (!real.ok()) return path;
  return *real == "/" ? "/" + name : *real + "/" + name;
}

// What is visible at a mount point, `point` being how the table calls `path`. The kernel is asked
// first: the table is the text of all mounts, and who has many of them mounts often.
template <typename Point>
Result<std::optional<MountFacts>> FactsAt(const std::string& path, const Point& point) {
  if (auto facts = AskForMountAt(path); facts.ok()) return facts;
  AGENTFS_ASSIGN(const auto entry, TopMountAt(point(path)));
  if (!entry) return std::optional<MountFacts>();
  MountFacts facts;
  facts.id = entry->id;
  facts.minor = entry->minor;
  facts.type = entry->type;
  return std::optional<MountFacts>(std::move(facts));
}

// Whether the server of the filesystem at `path` answers; cached attributes do not count.
int AskServer(const std::string& path) {
  struct statx ignored;
  const int asked = ::statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC | AT_NO_AUTOMOUNT,
                            STATX_BASIC_STATS, &ignored);
  return asked == 0 ? 0 : errno;
}

bool IsDropped(int answer) { return answer == ECONNABORTED || answer == ECANCELED; }

Result<std::string> CheckTarget(const std::string& path) {
  struct stat attributes;
  if (StateOfPath(path) == PathState::kDead) {
    return CannotMount(path, ENOTCONN, "the server of what is mounted there is gone",
                       "unmount it: agentfs umount " + path);
  }
  if (::stat(path.c_str(), &attributes) != 0) {
    const int code = errno;
    return CannotMount(path, code, Error(code).message(),
                       code == ENOENT ? "make the directory: mkdir -p " + path : "");
  }
  if (!S_ISDIR(attributes.st_mode)) {
    return CannotMount(path, ENOTDIR, "it is not a directory", "name a directory");
  }
  auto real = RealPath(path);
  if (!real.ok()) return CannotMount(path, real.code(), real.error().message(), "");
  return real;
}

Result<Fd> OpenDevice(const std::string& target) {
  auto device = OpenAt(AT_FDCWD, "/dev/fuse", O_RDWR);
  switch (device.code()) {
    case 0:
      return device;
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return CannotMount(target, ENODEV, "this system has no /dev/fuse",
                         "modprobe fuse; in a container: pass --device /dev/fuse to it");
    case EACCES:
    case EPERM:
      return CannotMount(target, EACCES, "you may not open /dev/fuse",
                         "let users open it, as is usual: chmod 666 /dev/fuse");
    default:
      return device.error().WithContext("cannot open /dev/fuse");
  }
}

Result<Fd> MountDirectly(const std::string& target, const MountOptions& options) {
  AGENTFS_ASSIGN(Fd device, OpenDevice(target));
  std::string data =
      fmt::format("fd={},rootmode={:o},user_id={},group_id={},max_read={}", device.get(),
                  static_cast<unsigned>(S_IFDIR), ::geteuid(), ::getegid(), options.max_read);
  if (options.default_permissions) data += ",default_permissions";
  if (options.allow_other) data += ",allow_other";
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOATIME |
                              (options.read_only ? static_cast<unsigned long>(MS_RDONLY) : 0);
  if (::mount(options.source.c_str(), target.c_str(), kFilesystemType, flags, data.c_str()) == 0) {
    return device;
  }
  switch (const int code = errno) {
    case EPERM:
      return CannotMount(target, EPERM, "mounting needs privilege",
                         "install the package fuse3, run as root, or use unshare -Urm");
    case ENODEV:
      return CannotMount(target, ENODEV, "this kernel has no FUSE", "modprobe fuse");
    case EBUSY:
      return CannotMount(target, EBUSY, "the directory is busy", "mount at another directory");
    default:
      return CannotMount(target, code, Error(code).message(), "");
  }
}

struct Mounted {
  Fd device;
  MountMethod method;
};

Result<Mounted> MountSomehow(const std::string& target, const MountOptions& options) {
  if (options.method != MountMethod::kHelper) {
    auto device = MountDirectly(target, options);
    if (device.ok()) return Mounted{std::move(device).value(), MountMethod::kDirect};
    if (options.method == MountMethod::kDirect || device.code() != EPERM) return device.error();
  }
  auto device = MountWithHelper(target, options);
  if (!device.ok()) return device.error().WithContext("cannot mount at " + target);
  return Mounted{std::move(device).value(), MountMethod::kHelper};
}

Result<void> UnmountPath(const std::string& point, UnmountMode mode) {
  int flags = UMOUNT_NOFOLLOW;
  if (mode != UnmountMode::kPlain) flags |= MNT_DETACH;
  if (mode == UnmountMode::kForced) flags |= MNT_FORCE;
  if (::umount2(point.c_str(), flags) == 0) return Ok();
  switch (const int code = errno) {
    case EINVAL:  // nothing is mounted there any more
    case ENOENT:
      return Ok();
    case EPERM:
      return UnmountWithHelper(point, mode);
    case EBUSY:
      return Error(EBUSY, fmt::format("cannot unmount {}: it is in use", point),
                   "end the programs that use it (fuser -m shows them), or unmount it lazily");
    default:
      return Error(code).WithContext("cannot unmount " + point);
  }
}

}  // namespace

Result<MountPoint> MountPoint::Mount(const std::string& path, const MountOptions& options) {
  AGENTFS_ASSIGN(const std::string target, CheckTarget(path));
  AGENTFS_ASSIGN(Mounted mounted, MountSomehow(target, options));
  MountPoint point(target, std::move(mounted.device), mounted.method);
  auto facts = FactsAt(target, [](const std::string& real) { return real; });
  if (facts.ok() && *facts && (*facts)->type == kFilesystemType) {
    point.mount_id_ = (*facts)->id;
    point.lasting_id_ = (*facts)->lasting_id;
    point.connection_ = (*facts)->minor;
    return point;
  }
  static_cast<void>(UnmountPath(target, UnmountMode::kLazy).ok());
  if (!facts.ok()) return CannotMount(target, facts.code(), facts.error().message(), "");
  return CannotMount(target, EIO, "the mount cannot be seen in /proc/self/mountinfo",
                     "somebody unmounts there: try again");
}

MountPoint::MountPoint(MountPoint&& other) noexcept
    : path_(std::move(other.path_)),
      device_(std::move(other.device_)),
      method_(other.method_),
      mount_id_(std::exchange(other.mount_id_, 0)),
      lasting_id_(other.lasting_id_),
      connection_(other.connection_) {}

MountPoint::~MountPoint() { static_cast<void>(Unmount(UnmountMode::kForced).ok()); }

bool MountPoint::IsMounted() const {
  if (mount_id_ == 0) return false;
  if (lasting_id_ != 0) {
    if (const auto mounted = AskWhetherMounted(lasting_id_); mounted.ok()) return *mounted;
  }
  const auto entry = MountWithId(mount_id_);
  return !entry.ok() || entry->has_value();  // unless it is known to be gone, it is there
}

Result<void> MountPoint::Unmount(UnmountMode mode) {
  if (mount_id_ == 0) return Ok();
  AGENTFS_ASSIGN(const auto entry, MountWithId(mount_id_));
  if (entry) {
    AGENTFS_ASSIGN(const auto top, TopMountAt(entry->point));
    if (!top || top->id != mount_id_) {
      return Error(EBUSY,
                   fmt::format("cannot unmount {}: something else is mounted over it", path_),
                   "unmount that first: umount " + path_);
    }
    AGENTFS_TRY(UnmountPath(entry->point, mode));
  }
  mount_id_ = 0;
  return Ok();
}

PathState StateOfPath(const std::string& path) {
  const auto facts = FactsAt(path, PointOf);
  const bool ours = facts.ok() && *facts && (*facts)->type == kFilesystemType;
  if (!ours) return PathState::kPlain;
  int answer = AskServer(path);
  // A connection that ends meanwhile drops the question; the next one meets its end.
  for (int i = 0; i < kMostQuestions && IsDropped(answer); ++i) answer = AskServer(path);
  return answer == ENOTCONN || IsDropped(answer) ? PathState::kDead : PathState::kMounted;
}

Result<bool> RemoveDeadMount(const std::string& path) {
  const std::string point = PointOf(path);
  bool removed = false;
  for (int i = 0; i < kMostStackedMounts && StateOfPath(path) == PathState::kDead; ++i) {
    AGENTFS_TRY(UnmountPath(point, UnmountMode::kLazy));
    removed = true;
  }
  return removed;
}

}  // namespace agentfs::fuse
