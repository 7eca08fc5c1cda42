// SPDX-License-Identifier: Apache-2.0
//
// A filesystem under test, in POSIX terms: what a program can do to it with system calls, each
// call giving a value or an errno. A native directory (the oracle, and later a mount) and the
// core's view are subjects; a test that holds on the oracle must hold on every other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/types.h"

namespace agentfs::posix {

// Who makes the calls.
struct Identity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  uint32_t umask = 022;
};
// The identity that this process has, with umask 022.
Identity ProcessIdentity();

inline const Identity kRoot{0, 0, {}, 022};
inline const Identity kAlice{1001, 2001, {}, 022};
inline const Identity kBob{1002, 2002, {}, 022};
inline constexpr uint32_t kTeam = 3001;  // a group that tests put people in
inline const Identity kAliceInTeam{1001, 2001, {kTeam}, 022};
inline const Identity kBobInTeam{1002, 2002, {kTeam}, 022};

// "0", "ENOENT", ...
std::string ErrnoName(int code);

// Bytes that differ from place to place, so that misplaced content shows; none is zero.
std::string Pattern(size_t size, uint32_t seed = 1);

struct Entry {
  std::string name;
  uint64_t node = 0;
  uint32_t type = 0;  // S_IFMT bits
  uint64_t cursor = 0;
};

// One of the two times of utimensat(2).
struct TimeChange {
  enum class Kind : uint8_t { kOmit, kNow, kSet };
  Kind kind = Kind::kOmit;
  Timestamp time;

  static TimeChange Omit() { return {}; }
  static TimeChange Now() { return {Kind::kNow, {}}; }
  static TimeChange Set(int64_t sec, uint32_t nsec = 0) { return {Kind::kSet, {sec, nsec}}; }
};

enum class Follow : uint8_t { kNo, kYes };

// For Chown: leave it.
inline constexpr uint32_t kKeep = UINT32_MAX;

// An open file or directory. Not thread-safe. It must not outlive its subject.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
  virtual Result<std::string> Read(uint64_t offset, size_t length) = 0;
  virtual Result<size_t> Write(uint64_t offset, std::string_view data) = 0;
  // write(2) with O_APPEND in the open flags; returns the offset written at.
  virtual Result<uint64_t> Append(std::string_view data) = 0;
  virtual Result<void> Truncate(uint64_t size) = 0;
  virtual Result<void> Allocate(AllocateMode mode, uint64_t offset, uint64_t length) = 0;
  virtual Result<uint64_t> Seek(uint64_t offset, SeekTarget target) = 0;
  virtual Result<uint64_t> CopyTo(uint64_t offset, OpenFile& target, uint64_t target_offset,
                                  uint64_t length) = 0;
  virtual Result<Attr> Stat() = 0;
  virtual Result<void> Chmod(uint32_t mode) = 0;
  virtual Result<void> Sync() = 0;
  // The entries after `cursor` (0: all), at most `limit`, without "." and "..".
  virtual Result<std::vector<Entry>> List(uint64_t cursor, size_t limit) = 0;
};

// Paths are relative to the subject's root, which is "". Calls do not follow a symbolic link in
// the last component unless they say so. One thread at a time.
class Subject {
 public:
  virtual ~Subject() = default;

  // All further calls are made as `identity`.
  virtual void Become(const Identity& identity) = 0;
  virtual const Identity& identity() const = 0;
  // Whether Become can do more than change the umask.
  virtual bool can_become_others() const = 0;
  // Whether reading updates the access time (relatime rules).
  virtual bool keeps_atime() const = 0;

  // `mode` is used with O_CREAT and O_TMPFILE. Symbolic links are followed unless O_NOFOLLOW.
  virtual Result<std::unique_ptr<OpenFile>> Open(std::string_view path, int flags,
                                                 uint32_t mode = 0666) = 0;
  virtual Result<Attr> Stat(std::string_view path, Follow follow = Follow::kNo) = 0;
  virtual Result<void> MakeDirectory(std::string_view path, uint32_t mode = 0777) = 0;
  virtual Result<void> MakeNode(std::string_view path, uint32_t mode, uint64_t rdev) = 0;
  virtual Result<void> MakeSymlink(std::string_view target, std::string_view path) = 0;
  virtual Result<void> Link(std::string_view existing, std::string_view path) = 0;
  // linkat(2) of an open file (one without a name, for instance).
  virtual Result<void> LinkOpen(OpenFile& file, std::string_view path) = 0;
  virtual Result<void> Unlink(std::string_view path) = 0;
  virtual Result<void> RemoveDirectory(std::string_view path) = 0;
  virtual Result<void> Rename(std::string_view from, std::string_view to,
                              RenameMode mode = RenameMode::kReplace) = 0;
  virtual Result<std::string> ReadLink(std::string_view path) = 0;

  virtual Result<void> Chmod(std::string_view path, uint32_t mode) = 0;  // follows
  virtual Result<void> Chown(std::string_view path, uint32_t uid, uint32_t gid) = 0;
  virtual Result<void> Truncate(std::string_view path, uint64_t size) = 0;  // follows
  virtual Result<void> SetTimes(std::string_view path, TimeChange atime, TimeChange mtime) = 0;
  virtual Result<void> Access(std::string_view path, int mask) = 0;  // follows

  virtual Result<std::string> GetXattr(std::string_view path, const std::string& name) = 0;
  virtual Result<std::vector<std::string>> ListXattrs(std::string_view path) = 0;
  virtual Result<void> SetXattr(std::string_view path, const std::string& name,
                                std::string_view value, XattrMode mode = XattrMode::kSet) = 0;
  virtual Result<void> RemoveXattr(std::string_view path, const std::string& name) = 0;

  virtual Result<FsStats> StatFs() = 0;

  // ---- made of the above
  Result<void> WriteFile(std::string_view path, std::string_view content, uint32_t mode = 0666);
  Result<std::string> ReadFile(std::string_view path);
  Result<std::vector<Entry>> List(std::string_view path);
};

// Calls of `subject` in this scope are made as `identity`.
class As {
 public:
  As(Subject& subject, const Identity& identity) : subject_(subject), before_(subject.identity()) {
    subject_.Become(identity);
  }
  ~As() { subject_.Become(before_); }
  As(const As&) = delete;
  As& operator=(const As&) = delete;

 private:
  Subject& subject_;
  const Identity before_;
};

}  // namespace agentfs::posix
