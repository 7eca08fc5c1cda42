// SPDX-License-Identifier: Apache-2.0
#include "native_subject.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace agentfs::posix {
namespace {

// The descriptor of an open file; closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

Result<void> Checked(long outcome) {
  if (outcome < 0) return Error(errno);
  return Ok();
}

off_t Offset(uint64_t value) { return static_cast<off_t>(value); }

Timestamp ToTimestamp(const statx_timestamp& t) { return Timestamp{t.tv_sec, t.tv_nsec}; }

Result<Attr> StatAt(int directory, const char* path, int flags) {
  struct statx s {};
  if (::statx(directory, path, flags, STATX_BASIC_STATS | STATX_BTIME, &s) != 0) {
    return Error(errno);
  }
  Attr attr;
  attr.node = NodeId(s.stx_ino);
  attr.mode = s.stx_mode;
  attr.uid = s.stx_uid;
  attr.gid = s.stx_gid;
  attr.nlink = s.stx_nlink;
  attr.rdev = ::makedev(s.stx_rdev_major, s.stx_rdev_minor);
  attr.size = s.stx_size;
  attr.blocks = s.stx_blocks;
  attr.atime = ToTimestamp(s.stx_atime);
  attr.mtime = ToTimestamp(s.stx_mtime);
  attr.ctime = ToTimestamp(s.stx_ctime);
  attr.btime = ToTimestamp(s.stx_btime);
  return attr;
}

int AllocateFlags(AllocateMode mode) {
  switch (mode) {
    case AllocateMode::kAllocate:
      return 0;
    case AllocateMode::kKeepSize:
      return FALLOC_FL_KEEP_SIZE;
    case AllocateMode::kPunchHole:
      return FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    case AllocateMode::kZeroRange:
      return FALLOC_FL_ZERO_RANGE;
    case AllocateMode::kZeroRangeKeepSize:
      return FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
  }
  return 0;
}

struct KernelDirent {
  uint64_t ino;
  int64_t off;
  uint16_t reclen;
  uint8_t type;
  char name[];
};

class NativeFile : public OpenFile {
 public:
  explicit NativeFile(int fd) : fd_(fd) {}
  int fd() const { return fd_.get(); }

  Result<std::string> Read(uint64_t offset, size_t length) override {
    std::string out(length, '\0');
    const ssize_t count = ::pread(fd(), out.data(), length, Offset(offset));
    if (count < 0) return Error(errno);
    out.resize(static_cast<size_t>(count));
    return out;
  }
  Result<size_t> Write(uint64_t offset, std::string_view data) override {
    const ssize_t count = ::pwrite(fd(), data.data(), data.size(), Offset(offset));
    if (count < 0) return Error(errno);
    return static_cast<size_t>(count);
  }
  Result<uint64_t> Append(std::string_view data) override {
    const ssize_t count = ::write(fd(), data.data(), data.size());
    if (count < 0) return Error(errno);
    return static_cast<uint64_t>(::lseek(fd(), 0, SEEK_CUR) - count);
  }
  Result<void> Truncate(uint64_t size) override { return Checked(::ftruncate(fd(), Offset(size))); }
  Result<void> Allocate(AllocateMode mode, uint64_t offset, uint64_t length) override {
    return Checked(::fallocate(fd(), AllocateFlags(mode), Offset(offset), Offset(length)));
  }
  Result<uint64_t> Seek(uint64_t offset, SeekTarget target) override {
    const off_t found =
        ::lseek(fd(), Offset(offset), target == SeekTarget::kData ? SEEK_DATA : SEEK_HOLE);
    if (found < 0) return Error(errno);
    return static_cast<uint64_t>(found);
  }
  Result<uint64_t> CopyTo(uint64_t offset, OpenFile& target, uint64_t target_offset,
                          uint64_t length) override {
    off_t from = Offset(offset);
    off_t to = Offset(target_offset);
    const ssize_t count = ::copy_file_range(fd(), &from, static_cast<NativeFile&>(target).fd(), &to,
                                            static_cast<size_t>(length), 0);
    if (count < 0) return Error(errno);
    return static_cast<uint64_t>(count);
  }
  Result<Attr> Stat() override { return StatAt(fd(), "", AT_EMPTY_PATH); }
  Result<void> Chmod(uint32_t mode) override { return Checked(::fchmod(fd(), mode)); }
  Result<void> Sync() override { return Checked(::fsync(fd())); }

  Result<std::vector<Entry>> List(uint64_t cursor, size_t limit) override {
    if (::lseek(fd(), Offset(cursor), SEEK_SET) < 0) return Error(errno);
    std::vector<Entry> entries;
    alignas(KernelDirent) char buffer[32768];
    while (entries.size() < limit) {
      const long count = ::syscall(SYS_getdents64, fd(), buffer, sizeof buffer);
      if (count < 0) return Error(errno);
      if (count == 0) break;
      Take({buffer, static_cast<size_t>(count)}, limit, entries);
    }
    return entries;
  }

 private:
  static void Take(std::string_view block, size_t limit, std::vector<Entry>& entries) {
    for (size_t at = 0; at < block.size() && entries.size() < limit;) {
      const auto* dirent = reinterpret_cast<const KernelDirent*>(block.data() + at);
      at += dirent->reclen;
      const std::string_view name = dirent->name;
      if (name == "." || name == "..") continue;
      entries.push_back({std::string(name), dirent->ino, DTTOIF(dirent->type),
                         static_cast<uint64_t>(dirent->off)});
    }
  }
  static uint32_t DTTOIF(uint8_t type) { return static_cast<uint32_t>(type) << 12; }

  Descriptor fd_;
};

class NativeSubject : public Subject {
 public:
  NativeSubject(std::string root, int directory)
      : root_(std::move(root)), directory_(directory), self_(ProcessIdentity()), current_(self_) {
    SetUmask();
  }
  ~NativeSubject() override { Become(self_); }

  void Become(const Identity& identity) override {
    if (self_.uid == 0) {
      // Per thread, which the functions of the C library are not. The saved user id stays root's.
      Must(::syscall(SYS_setresuid, -1, 0, -1));
      Must(::syscall(SYS_setgroups, identity.groups.size(), identity.groups.data()));
      Must(::syscall(SYS_setresgid, -1, identity.gid, -1));
      Must(::syscall(SYS_setresuid, -1, identity.uid, -1));
    }
    current_ = identity;
    SetUmask();
  }
  const Identity& identity() const override { return current_; }
  bool can_become_others() const override { return self_.uid == 0; }
  bool keeps_atime() const override {
    struct statvfs s {};
    return ::fstatvfs(fd(), &s) == 0 && (s.f_flag & ST_RELATIME) != 0 &&
           (s.f_flag & (ST_NOATIME | ST_RDONLY)) == 0;
  }

  Result<std::unique_ptr<OpenFile>> Open(std::string_view path, int flags, uint32_t mode) override {
    const int opened = ::openat(fd(), Path(path).c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode);
    if (opened < 0) return Error(errno);
    return std::unique_ptr<OpenFile>(std::make_unique<NativeFile>(opened));
  }
  Result<Attr> Stat(std::string_view path, Follow follow) override {
    return StatAt(fd(), Path(path).c_str(), follow == Follow::kYes ? 0 : AT_SYMLINK_NOFOLLOW);
  }
  Result<void> MakeDirectory(std::string_view path, uint32_t mode) override {
    return Checked(::mkdirat(fd(), Path(path).c_str(), mode));
  }
  Result<void> MakeNode(std::string_view path, uint32_t mode, uint64_t rdev) override {
    return Checked(::mknodat(fd(), Path(path).c_str(), mode, rdev));
  }
  Result<void> MakeSymlink(std::string_view target, std::string_view path) override {
    return Checked(::symlinkat(std::string(target).c_str(), fd(), Path(path).c_str()));
  }
  Result<void> Link(std::string_view existing, std::string_view path) override {
    return Checked(::linkat(fd(), Path(existing).c_str(), fd(), Path(path).c_str(), 0));
  }
  Result<void> LinkOpen(OpenFile& file, std::string_view path) override {
    return Checked(
        ::linkat(static_cast<NativeFile&>(file).fd(), "", fd(), Path(path).c_str(), AT_EMPTY_PATH));
  }
  Result<void> Unlink(std::string_view path) override {
    return Checked(::unlinkat(fd(), Path(path).c_str(), 0));
  }
  Result<void> RemoveDirectory(std::string_view path) override {
    return Checked(::unlinkat(fd(), Path(path).c_str(), AT_REMOVEDIR));
  }
  Result<void> Rename(std::string_view from, std::string_view to, RenameMode mode) override {
    static constexpr unsigned kFlags[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT,
                                          RENAME_NOREPLACE | RENAME_WHITEOUT};
    const unsigned flags = kFlags[static_cast<size_t>(mode)];
    return Checked(::renameat2(fd(), Path(from).c_str(), fd(), Path(to).c_str(), flags));
  }
  Result<std::string> ReadLink(std::string_view path) override {
    std::string target(PATH_MAX, '\0');
    const ssize_t count = ::readlinkat(fd(), Path(path).c_str(), target.data(), target.size());
    if (count < 0) return Error(errno);
    target.resize(static_cast<size_t>(count));
    return target;
  }

  Result<void> Chmod(std::string_view path, uint32_t mode) override {
    return Checked(::fchmodat(fd(), Path(path).c_str(), mode, 0));
  }
  Result<void> Chown(std::string_view path, uint32_t uid, uint32_t gid) override {
    return Checked(::fchownat(fd(), Path(path).c_str(), uid, gid, AT_SYMLINK_NOFOLLOW));
  }
  Result<void> Truncate(std::string_view path, uint64_t size) override {
    return Checked(::truncate(Absolute(path).c_str(), Offset(size)));
  }
  Result<void> SetTimes(std::string_view path, TimeChange atime, TimeChange mtime) override {
    const timespec times[2] = {ToTimespec(atime), ToTimespec(mtime)};
    return Checked(::utimensat(fd(), Path(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
  }
  Result<void> Access(std::string_view path, int mask) override {
    return Checked(::faccessat(fd(), Path(path).c_str(), mask, AT_EACCESS));
  }

  Result<std::string> GetXattr(std::string_view path, const std::string& name) override {
    std::string value(XATTR_SIZE_MAX, '\0');
    const ssize_t count =
        ::lgetxattr(Absolute(path).c_str(), name.c_str(), value.data(), value.size());
    if (count < 0) return Error(errno);
    value.resize(static_cast<size_t>(count));
    return value;
  }
  Result<std::vector<std::string>> ListXattrs(std::string_view path) override {
    std::string buffer(XATTR_LIST_MAX, '\0');
    const ssize_t count = ::llistxattr(Absolute(path).c_str(), buffer.data(), buffer.size());
    if (count < 0) return Error(errno);
    std::vector<std::string> names;
    for (size_t at = 0; at < static_cast<size_t>(count);) {
      names.emplace_back(buffer.c_str() + at);
      at += names.back().size() + 1;
    }
    return names;
  }
  Result<void> SetXattr(std::string_view path, const std::string& name, std::string_view value,
                        XattrMode mode) override {
    const int flags = mode == XattrMode::kCreate    ? XATTR_CREATE
                      : mode == XattrMode::kReplace ? XATTR_REPLACE
                                                    : 0;
    return Checked(
        ::lsetxattr(Absolute(path).c_str(), name.c_str(), value.data(), value.size(), flags));
  }
  Result<void> RemoveXattr(std::string_view path, const std::string& name) override {
    return Checked(::lremovexattr(Absolute(path).c_str(), name.c_str()));
  }

  Result<FsStats> StatFs() override {
    struct statvfs s {};
    if (::fstatvfs(fd(), &s) != 0) return Error(errno);
    FsStats stats;
    stats.block_size = s.f_bsize;
    stats.blocks = s.f_blocks;
    stats.blocks_free = s.f_bfree;
    stats.blocks_available = s.f_bavail;
    stats.files = s.f_files;
    stats.files_free = s.f_ffree;
    stats.name_max = static_cast<uint32_t>(s.f_namemax);
    return stats;
  }

 private:
  static void Must(long outcome) {
    if (outcome == 0) return;
    std::perror("changing the identity of a test");
    std::abort();
  }
  static timespec ToTimespec(const TimeChange& change) {
    switch (change.kind) {
      case TimeChange::Kind::kOmit:
        return {0, UTIME_OMIT};
      case TimeChange::Kind::kNow:
        return {0, UTIME_NOW};
      case TimeChange::Kind::kSet:
        break;
    }
    return {change.time.sec, static_cast<long>(change.time.nsec)};
  }

  int fd() const { return directory_.get(); }
  void SetUmask() const { ::umask(static_cast<mode_t>(current_.umask)); }
  static std::string Path(std::string_view path) { return path.empty() ? "." : std::string(path); }
  std::string Absolute(std::string_view path) const { return root_ + "/" + std::string(path); }

  const std::string root_;
  Descriptor directory_;
  const Identity self_;
  Identity current_;
};

}  // namespace

Result<std::unique_ptr<Subject>> OpenNativeSubject(const std::string& root) {
  const int directory = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return Error(errno, "opening " + root);
  return std::unique_ptr<Subject>(std::make_unique<NativeSubject>(root, directory));
}

TempDirectory::TempDirectory() {
  const char* parent = std::getenv("TMPDIR");
  path_ = std::string(parent && *parent ? parent : "/tmp") + "/agentfs-test-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr || ::chmod(path_.c_str(), 0755) != 0) {
    std::perror(path_.c_str());
    std::abort();
  }
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDirectory::Make(const std::string& name) const {
  std::string made = path_ + "/" + name;
  if (::mkdir(made.c_str(), 0755) != 0 || ::chmod(made.c_str(), 0755) != 0) {
    std::perror(made.c_str());
    std::abort();
  }
  return made;
}

}  // namespace agentfs::posix
