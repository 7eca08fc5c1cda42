// SPDX-License-Identifier: Apache-2.0
#include "sys/host_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <memory>

namespace agentfs {
namespace {

constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

Result<void> Check(int outcome) { return outcome == 0 ? Ok() : Result<void>(ErrnoError()); }

struct timespec ToTimespec(const Timestamp& time) {
  return {static_cast<time_t>(time.sec), static_cast<long>(time.nsec)};
}

Timestamp ToTimestamp(const struct timespec& time) {
  return {time.tv_sec, static_cast<uint32_t>(time.tv_nsec)};
}

// A path by which calls that know no descriptors reach a name in an open directory.
std::string ProcPath(int directory, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(directory) + "/" + name;
}

std::map<std::string, std::string> ReadHostXattrs(const std::string& path) {
  std::map<std::string, std::string> xattrs;
  std::vector<char> names(64 << 10);
  const ssize_t size = ::llistxattr(path.c_str(), names.data(), names.size());
  for (ssize_t at = 0; at < size;) {
    const std::string name(names.data() + at);
    at += static_cast<ssize_t>(name.size()) + 1;
    std::string value(64 << 10, '\0');
    const ssize_t length = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (length < 0) continue;
    value.resize(static_cast<size_t>(length));
    xattrs[name] = std::move(value);
  }
  return xattrs;
}

// Of what belongs to the system, only as much as it lets us.
Result<void> WriteHostXattrs(const std::string& path,
                             const std::map<std::string, std::string>& wanted) {
  const auto present = ReadHostXattrs(path);
  for (const auto& [name, value] : present) {
    if (!wanted.contains(name) && name.starts_with("user.")) {
      AGENTFS_TRY(Check(::lremovexattr(path.c_str(), name.c_str())));
    } else if (!wanted.contains(name) && name.starts_with("system.posix_acl")) {
      (void)::lremovexattr(path.c_str(), name.c_str());
    }
  }
  for (const auto& [name, value] : wanted) {
    if (auto it = present.find(name); it != present.end() && it->second == value) continue;
    const int set = ::lsetxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0);
    if (set != 0 && name.starts_with("user.") && errno != EOPNOTSUPP) return ErrnoError();
  }
  return Ok();
}

}  // namespace

Result<HostTree> HostTree::Open(const std::string& directory) {
  AGENTFS_ASSIGN(Fd root, OpenAt(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY));
  return HostTree(std::move(root));
}

Result<HostTree> HostTree::Open(const std::string& directory, std::string prefix,
                                const std::string& other) {
  AGENTFS_ASSIGN(HostTree tree, Open(directory));
  AGENTFS_ASSIGN(tree.other_, OpenAt(AT_FDCWD, other, O_RDONLY | O_DIRECTORY));
  tree.prefix_ = std::move(prefix);
  return tree;
}

Result<Fd> HostTree::OpenIn(std::string_view path, int flags) const {
  const bool elsewhere = !prefix_.empty() && path.starts_with(prefix_) &&
                         (path.size() == prefix_.size() || path[prefix_.size()] == '/');
  if (elsewhere) path.remove_prefix(std::min(path.size(), prefix_.size() + 1));
  const std::string at = path.empty() ? "." : std::string(path);
  return OpenBeneath(elsewhere ? other_.get() : root_.get(), at, flags, kBeneath);
}

Result<HostTree::Place> HostTree::Find(std::string_view path) const {
  const size_t slash = path.rfind('/');
  Place place;
  place.name = std::string(slash == path.npos ? path : path.substr(slash + 1));
  if (place.name.empty()) place.name = ".";
  AGENTFS_ASSIGN(place.directory, OpenDirectory(slash == path.npos ? "" : path.substr(0, slash)));
  return place;
}

Result<Fd> HostTree::OpenDirectory(std::string_view path) const {
  return OpenIn(path, O_RDONLY | O_DIRECTORY);
}

Result<std::vector<std::string>> HostTree::List(std::string_view path) const {
  AGENTFS_ASSIGN(Fd fd, OpenDirectory(path));
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
  if (!dir) return ErrnoError();
  fd.Release();  // the stream closes it
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const struct dirent* entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0) return ErrnoError();
    if (entry == nullptr) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

Result<Fd> HostTree::OpenFile(std::string_view path, int flags) const {
  return OpenIn(path, flags | O_NOFOLLOW | O_NONBLOCK);
}

Result<std::optional<struct stat>> HostTree::Stat(std::string_view path) const {
  Result<Place> place = Find(path);
  if (place.code() == ENOENT || place.code() == ENOTDIR) return std::optional<struct stat>();
  if (!place.ok()) return place.error();
  struct stat st;
  if (::fstatat(place->directory.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    return std::optional<struct stat>(st);
  }
  if (errno == ENOENT) return std::optional<struct stat>();
  return ErrnoError();
}

Result<Fd> HostTree::CreateFile(std::string_view path) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  return OpenAt(place.directory.get(), place.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

Result<void> HostTree::MakeDirectory(std::string_view path) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  return Check(::mkdirat(place.directory.get(), place.name.c_str(), 0700));
}

Result<void> HostTree::MakeSymlink(const std::string& target, std::string_view path) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  return Check(::symlinkat(target.c_str(), place.directory.get(), place.name.c_str()));
}

Result<void> HostTree::MakeNode(std::string_view path, uint32_t mode, uint64_t rdev) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  return Check(::mknodat(place.directory.get(), place.name.c_str(), (mode & S_IFMT) | 0600, rdev));
}

Result<std::string> HostTree::ReadLink(std::string_view path) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  std::array<char, PATH_MAX> target;
  const ssize_t length =
      ::readlinkat(place.directory.get(), place.name.c_str(), target.data(), target.size());
  if (length < 0) return ErrnoError();
  return std::string(target.data(), static_cast<size_t>(length));
}

Result<void> HostTree::Unlink(std::string_view path) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  return Check(::unlinkat(place.directory.get(), place.name.c_str(), 0));
}

Result<void> HostTree::RemoveDirectory(std::string_view path) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  return Check(::unlinkat(place.directory.get(), place.name.c_str(), AT_REMOVEDIR));
}

Result<void> HostTree::Rename(std::string_view from, const HostTree& to_tree, std::string_view to,
                              Replace replace) const {
  AGENTFS_ASSIGN(const Place source, Find(from));
  AGENTFS_ASSIGN(const Place target, to_tree.Find(to));
  const unsigned flags = replace == Replace::kYes ? 0 : RENAME_NOREPLACE;
  return Check(::renameat2(source.directory.get(), source.name.c_str(), target.directory.get(),
                           target.name.c_str(), flags));
}

Result<void> HostTree::Link(std::string_view from, const HostTree& to_tree,
                            std::string_view to) const {
  AGENTFS_ASSIGN(const Place source, Find(from));
  AGENTFS_ASSIGN(const Place target, to_tree.Find(to));
  return Check(::linkat(source.directory.get(), source.name.c_str(), target.directory.get(),
                        target.name.c_str(), 0));
}

Result<HostAttributes> HostTree::GetAttributes(std::string_view path) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  struct stat st;
  AGENTFS_TRY(
      Check(::fstatat(place.directory.get(), place.name.c_str(), &st, AT_SYMLINK_NOFOLLOW)));
  HostAttributes attributes;
  attributes.mode = st.st_mode;
  attributes.uid = st.st_uid;
  attributes.gid = st.st_gid;
  attributes.atime = ToTimestamp(st.st_atim);
  attributes.mtime = ToTimestamp(st.st_mtim);
  attributes.xattrs = ReadHostXattrs(ProcPath(place.directory.get(), place.name));
  return attributes;
}

// What this user namespace has no id for cannot be given: it stays with who made the file.
static Result<void> GiveOwner(int directory, const char* name, uid_t uid, gid_t gid) {
  const auto give = [&](uid_t user, gid_t group) {
    return Check(::fchownat(directory, name, user, group, AT_SYMLINK_NOFOLLOW));
  };
  Result<void> given = give(uid, gid);
  if (given.code() != EINVAL) return given;
  for (const auto& [user, group] : {std::pair(uid, gid_t(-1)), std::pair(uid_t(-1), gid)}) {
    given = give(user, group);
    if (!given.ok() && given.code() != EINVAL) return given;
  }
  return Ok();
}

Result<void> HostTree::SetAttributes(std::string_view path,
                                     const HostAttributes& attributes) const {
  AGENTFS_ASSIGN(const Place place, Find(path));
  const int directory = place.directory.get();
  const char* name = place.name.c_str();
  if (::geteuid() == 0) {
    AGENTFS_TRY(GiveOwner(directory, name, attributes.uid, attributes.gid));
  }
  AGENTFS_TRY(WriteHostXattrs(ProcPath(directory, place.name), attributes.xattrs));
  if (!S_ISLNK(attributes.mode)) {
    // By a descriptor: chmod(2) would follow a link that was put there meanwhile.
    AGENTFS_ASSIGN(const Fd file, OpenAt(directory, place.name, O_PATH | O_NOFOLLOW));
    const std::string by_fd = "/proc/self/fd/" + std::to_string(file.get());
    AGENTFS_ASSIGN(const struct stat st, StatFd(file.get()));
    if (S_ISLNK(st.st_mode)) return Error(ELOOP);
    AGENTFS_TRY(Check(::chmod(by_fd.c_str(), attributes.mode & 07777)));
  }
  const struct timespec times[] = {ToTimespec(attributes.atime), ToTimespec(attributes.mtime)};
  return Check(::utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW));
}

Result<void> HostTree::Copy(std::string_view from, const HostTree& to_tree,
                            std::string_view to) const {
  AGENTFS_ASSIGN(const HostAttributes attributes, GetAttributes(from));
  AGENTFS_ASSIGN(const auto st, Stat(from));
  if (!st) return Error(ENOENT);
  if (S_ISREG(attributes.mode)) {
    AGENTFS_ASSIGN(const Fd source, OpenFile(from, O_RDONLY));
    AGENTFS_ASSIGN(const Fd target, to_tree.CreateFile(to));
    const auto size = static_cast<uint64_t>(st->st_size);
    AGENTFS_TRY(CloneOrCopyRange(source.get(), 0, target.get(), 0, size));
    AGENTFS_TRY(Check(::ftruncate(target.get(), st->st_size)));
    AGENTFS_TRY(SyncFd(target.get()));
  } else if (S_ISLNK(attributes.mode)) {
    AGENTFS_ASSIGN(const std::string target, ReadLink(from));
    AGENTFS_TRY(to_tree.MakeSymlink(target, to));
  } else {
    AGENTFS_TRY(to_tree.MakeNode(to, attributes.mode, st->st_rdev));
  }
  return to_tree.SetAttributes(to, attributes);
}

Result<void> HostTree::Overwrite(std::string_view path, const HostTree& from_tree,
                                 std::string_view from) const {
  AGENTFS_ASSIGN(const HostAttributes attributes, from_tree.GetAttributes(from));
  AGENTFS_ASSIGN(const Fd source, from_tree.OpenFile(from, O_RDONLY));
  AGENTFS_ASSIGN(const struct stat st, StatFd(source.get()));
  AGENTFS_ASSIGN(const Fd target, OpenFile(path, O_WRONLY));
  AGENTFS_TRY(Check(::ftruncate(target.get(), st.st_size)));
  AGENTFS_TRY(
      CloneOrCopyRange(source.get(), 0, target.get(), 0, static_cast<uint64_t>(st.st_size)));
  AGENTFS_TRY(SyncFd(target.get()));
  return SetAttributes(path, attributes);
}

Result<void> HostTree::SyncDirectory(std::string_view path) const {
  AGENTFS_ASSIGN(const Fd directory, OpenDirectory(path));
  return SyncFd(directory.get());
}

}  // namespace agentfs
