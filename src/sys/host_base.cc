// SPDX-License-Identifier: Apache-2.0
//
// A host directory as a base: every path is resolved by the kernel beneath one directory handle,
// and no symbolic link is ever followed.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "agentfs/base_fs.h"
#include "sys/directory_watcher.h"
#include "sys/fd.h"
#include "sys/fs_stats.h"

namespace agentfs {
namespace {

constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
constexpr unsigned kStatMask = STATX_BASIC_STATS | STATX_BTIME;
constexpr uint64_t kIdentityBits = 62;
constexpr uint64_t kPage = 4096;

Timestamp ToTimestamp(const struct statx_timestamp& t) { return {t.tv_sec, t.tv_nsec}; }

// The finaliser of splitmix64: every bit of the input changes half of the output's.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t IdentityOf(const struct statx& st, uint64_t filesystem) {
  uint64_t hash = Mix(filesystem);
  if (st.stx_mask & STATX_BTIME) {
    hash = Mix(hash ^ static_cast<uint64_t>(st.stx_btime.tv_sec));
    hash = Mix(hash ^ st.stx_btime.tv_nsec);
  }
  hash = Mix(hash ^ st.stx_ino) >> (64 - kIdentityBits);
  return hash == 0 ? 1 : hash;
}

BaseStat ToBaseStat(const struct statx& st, uint64_t filesystem) {
  BaseStat out;
  out.identity = IdentityOf(st, filesystem);
  out.attr.mode = st.stx_mode;
  out.attr.uid = st.stx_uid;
  out.attr.gid = st.stx_gid;
  out.attr.nlink = st.stx_nlink;
  out.attr.rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor);
  out.attr.size = st.stx_size;
  out.attr.blocks = st.stx_blocks;
  out.attr.atime = ToTimestamp(st.stx_atime);
  out.attr.mtime = ToTimestamp(st.stx_mtime);
  out.attr.ctime = ToTimestamp(st.stx_ctime);
  out.attr.btime = st.stx_mask & STATX_BTIME ? ToTimestamp(st.stx_btime) : out.attr.ctime;
  out.signature = {st.stx_size, out.attr.mtime, out.attr.ctime, st.stx_ino};
  return out;
}

dev_t DeviceOf(const struct statx& st) { return makedev(st.stx_dev_major, st.stx_dev_minor); }

// Device numbers change from boot to boot. So files of the root's own filesystem are told apart by
// inode alone, and those of others mounted beneath by their filesystem's id.
Result<BaseStat> StatOpen(int fd, dev_t root_device) {
  struct statx st;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, kStatMask, &st) != 0) return ErrnoError();
  uint64_t filesystem = 0;
  const bool mounted = DeviceOf(st) != root_device;
  if (mounted) {
    struct statfs fs;
    if (::fstatfs(fd, &fs) != 0) return ErrnoError();
    static_assert(sizeof(fs.f_fsid) == sizeof(filesystem));
    std::memcpy(&filesystem, &fs.f_fsid, sizeof(filesystem));
    filesystem = Mix(filesystem) | 1;
  }
  BaseStat stat = ToBaseStat(st, filesystem);
  stat.mounted = mounted;
  return stat;
}

class HostFile final : public BaseFile {
 public:
  HostFile(Fd fd, dev_t root_device) : fd_(std::move(fd)), root_device_(root_device) {}

  Result<size_t> Read(uint64_t offset, std::span<char> out) override {
    // A read that ends within a page has met the end of the file: no second call to see it.
    const ssize_t n = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno != EINTR) return ErrnoError();
    const size_t got = n < 0 ? 0 : static_cast<size_t>(n);
    if (got == out.size() || (offset + got) % kPage != 0) return got;
    AGENTFS_ASSIGN(const size_t more, ReadAt(fd_.get(), offset + got, out.subspan(got)));
    return got + more;
  }
  Result<BaseStat> Stat() override { return StatOpen(fd_.get(), root_device_); }
  void WillRead(uint64_t bytes) override {
    static_cast<void>(
        ::posix_fadvise(fd_.get(), 0, static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
  }
  Result<uint64_t> Seek(uint64_t offset, SeekTarget target) override {
    if (offset > INT64_MAX) return Error(ENXIO);
    off_t found = ::lseek(fd_.get(), static_cast<off_t>(offset),
                          target == SeekTarget::kData ? SEEK_DATA : SEEK_HOLE);
    if (found < 0) return ErrnoError();
    return static_cast<uint64_t>(found);
  }
  int descriptor() const override { return fd_.get(); }

 private:
  const Fd fd_;
  const dev_t root_device_;
};

// What a path is, from its text alone (which is the truth, because no link is followed).
struct PathShape {
  bool is_root = false;
  bool is_hidden = false;
};

class HostBase final : public BaseFs {
 public:
  HostBase(Fd root, dev_t device, std::vector<std::string> hidden)
      : root_(std::move(root)), device_(device), hidden_(std::move(hidden)) {}

  Result<BaseStat> Stat(std::string_view path) override {
    AGENTFS_ASSIGN(Fd fd, OpenPath(path));
    return StatOpen(fd.get(), device_);
  }

  Result<std::unique_ptr<BaseFile>> Open(std::string_view path) override {
    // A look first: even a non-blocking open of a device may do something.
    AGENTFS_ASSIGN(Fd handle, OpenPath(path));
    AGENTFS_TRY(RequireRegular(handle.get()));
    AGENTFS_ASSIGN(Fd fd, OpenQuietly(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
    AGENTFS_TRY(RequireRegular(fd.get()));
    return std::unique_ptr<BaseFile>(new HostFile(std::move(fd), device_));
  }

  Result<std::vector<BaseEntry>> List(std::string_view path) override;
  Result<std::vector<Result<BaseStat>>> StatNames(std::string_view directory,
                                                  std::span<const std::string_view> names) override;
  Result<std::string> ReadLink(std::string_view path) override;
  Result<std::vector<std::string>> ListXattrs(std::string_view path) override;
  Result<std::string> GetXattr(std::string_view path, std::string_view name) override;
  Result<FsStats> StatFs() override { return HostFsStats(root_.get()); }
  bool IsAtHand(std::string_view path) override {
    return OpenWith(path, O_PATH | O_NOFOLLOW, RESOLVE_CACHED).ok();
  }
  Result<void> Observe(BaseObserver* observer) override;
  Result<void> Watch(const std::string& directory) override;
  uint64_t watch_generation() const override { return watcher_ ? watcher_->generation() : 0; }
  bool HasToldAll() const override { return watcher_ && watcher_->HasToldAll(); }

 private:
  static Result<void> RequireRegular(int fd) {
    AGENTFS_ASSIGN(struct stat st, StatFd(fd));
    if (S_ISLNK(st.st_mode)) return Error(ELOOP);
    if (!S_ISREG(st.st_mode)) return Error(EINVAL);
    return Ok();
  }

  PathShape Shape(std::string_view path) const;
  Result<Fd> OpenWith(std::string_view path, int flags, uint64_t resolve = 0) const;
  Result<Fd> OpenPath(std::string_view path) const { return OpenWith(path, O_PATH | O_NOFOLLOW); }
  // Without touching the access time where we may.
  Result<Fd> OpenQuietly(std::string_view path, int flags) const {
    auto fd = OpenWith(path, flags | O_NOATIME);
    return fd.code() == EPERM ? OpenWith(path, flags) : std::move(fd);
  }
  bool IsHiddenName(std::string_view name) const {
    return std::find(hidden_.begin(), hidden_.end(), name) != hidden_.end();
  }

  const Fd root_;
  const dev_t device_;
  const std::vector<std::string> hidden_;
  std::unique_ptr<DirectoryWatcher> watcher_;
};

PathShape HostBase::Shape(std::string_view path) const {
  PathShape shape;
  int depth = 0;
  while (!path.empty()) {
    size_t end = std::min(path.find('/'), path.size());
    std::string_view name = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      --depth;
    } else {
      shape.is_hidden |= depth == 0 && IsHiddenName(name);
      ++depth;
    }
  }
  shape.is_root = depth == 0;
  return shape;
}

Result<Fd> HostBase::OpenWith(std::string_view path, int flags, uint64_t resolve) const {
  if (path.find('\0') != std::string_view::npos) return Error(EINVAL);
  if (Shape(path).is_hidden) return Error(ENOENT);
  return OpenBeneath(root_.get(), path.empty() ? "." : std::string(path), flags,
                     kResolve | resolve);
}

Result<std::vector<BaseEntry>> HostBase::List(std::string_view path) {
  AGENTFS_ASSIGN(Fd fd, OpenQuietly(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
  if (!dir) return ErrnoError();
  fd.Release();  // the stream closes it
  const bool is_root = Shape(path).is_root;
  std::vector<BaseEntry> entries;
  for (;;) {
    errno = 0;
    const struct dirent* entry = ::readdir(dir.get());
    if (!entry && errno != 0) return ErrnoError();
    if (!entry) return entries;
    std::string_view name = entry->d_name;
    if (name == "." || name == ".." || (is_root && IsHiddenName(name))) continue;
    uint32_t type = entry->d_type == DT_UNKNOWN ? 0 : DTTOIF(entry->d_type);
    entries.push_back({std::string(name), type});
  }
}

// A single name cannot lead out of its directory, so that no open is needed for each.
Result<std::vector<Result<BaseStat>>> HostBase::StatNames(std::string_view directory,
                                                          std::span<const std::string_view> names) {
  AGENTFS_ASSIGN(Fd fd, OpenWith(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  const bool is_root = Shape(directory).is_root;
  std::vector<Result<BaseStat>> stats;
  stats.reserve(names.size());
  for (std::string_view name : names) {
    struct statx st;
    if (is_root && IsHiddenName(name)) {
      stats.emplace_back(Error(ENOENT));
    } else if (::statx(fd.get(), std::string(name).c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                       kStatMask, &st) != 0) {
      stats.emplace_back(ErrnoError());
    } else if (DeviceOf(st) == device_) {
      stats.emplace_back(ToBaseStat(st, 0));
    } else {  // mounted there: its filesystem has to be asked for its id
      std::string path(directory);
      if (!path.empty()) path += '/';
      stats.push_back(Stat(path.append(name)));
    }
  }
  return stats;
}

Result<std::string> HostBase::ReadLink(std::string_view path) {
  AGENTFS_ASSIGN(Fd fd, OpenPath(path));
  AGENTFS_ASSIGN(struct stat st, StatFd(fd.get()));
  if (!S_ISLNK(st.st_mode)) return Error(EINVAL);
  std::string target(PATH_MAX, '\0');
  ssize_t n = ::readlinkat(fd.get(), "", target.data(), target.size());
  if (n < 0) return ErrnoError();
  target.resize(static_cast<size_t>(n));
  return target;
}

// The xattr calls refuse O_PATH descriptors, but follow this name to exactly the open file, and
// not further if that is a symbolic link itself.
std::string NameOfOpen(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

// An open file has a name in /proc, unless there is no /proc.
Error XattrError() {
  if (errno != ENOENT) return ErrnoError();
  return Error(EIO, "cannot read extended attributes: /proc is not mounted", "mount /proc");
}

// Calls `read(buffer, size)` of the xattr family with a buffer that is large enough.
template <typename Read>
Result<std::string> ReadSized(Read read) {
  std::string value(256, '\0');
  for (;;) {
    ssize_t n = read(value.data(), value.size());
    if (n >= 0) {
      value.resize(static_cast<size_t>(n));
      return value;
    }
    if (errno != ERANGE) return XattrError();
    ssize_t need = read(nullptr, 0);
    if (need < 0) return XattrError();
    value.resize(std::max<size_t>(static_cast<size_t>(need), value.size() + 1));
  }
}

Result<std::vector<std::string>> HostBase::ListXattrs(std::string_view path) {
  AGENTFS_ASSIGN(Fd fd, OpenPath(path));
  const std::string name = NameOfOpen(fd);
  auto list =
      ReadSized([&](char* out, size_t size) { return ::listxattr(name.c_str(), out, size); });
  std::vector<std::string> names;
  if (list.code() == EOPNOTSUPP) return names;
  if (!list.ok()) return list.error();
  std::string_view rest = *list;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\0'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

Result<std::string> HostBase::GetXattr(std::string_view path, std::string_view name) {
  AGENTFS_ASSIGN(Fd fd, OpenPath(path));
  const std::string file = NameOfOpen(fd);
  const std::string attribute(name);
  return ReadSized([&](char* out, size_t size) {
    return ::getxattr(file.c_str(), attribute.c_str(), out, size);
  });
}

Result<void> HostBase::Observe(BaseObserver* observer) {
  watcher_.reset();
  if (observer == nullptr) return Ok();
  DirectoryWatcher::Callbacks callbacks;
  callbacks.changed = [this, observer](const std::string& path, std::string_view name) {
    if (!path.empty() || !IsHiddenName(name)) observer->BaseChanged(path, name);
  };
  callbacks.lost = [observer] { observer->BaseLost(); };
  AGENTFS_ASSIGN(watcher_, DirectoryWatcher::Start(std::move(callbacks)));
  return Ok();
}

Result<void> HostBase::Watch(const std::string& directory) {
  AGENTFS_ASSIGN(Fd fd, OpenWith(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  return watcher_->Watch(directory, NameOfOpen(fd));
}

}  // namespace

Result<std::unique_ptr<BaseFs>> OpenHostBase(const std::string& root,
                                             std::vector<std::string> hidden) {
  auto fd = OpenAt(AT_FDCWD, root, O_PATH | O_DIRECTORY);
  if (!fd.ok()) return fd.error().WithContext("cannot open the base " + root);
  struct statx st;
  if (::statx(fd->get(), "", AT_EMPTY_PATH, kStatMask, &st) != 0) return ErrnoError();
  return std::unique_ptr<BaseFs>(
      new HostBase(std::move(fd).value(), DeviceOf(st), std::move(hidden)));
}

}  // namespace agentfs
