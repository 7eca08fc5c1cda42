// SPDX-License-Identifier: Apache-2.0
//
// The path API for embedders: whole-file and tree operations by path, on any FileSystem. Symbolic
// links are followed within the filesystem (at most 40, then ELOOP), never outside: an absolute
// target starts at the filesystem's root. Paths go through NormalizePath, so ".." of a path is
// textual and a backslash separates; ".." in a link's target is the parent of the directory
// reached. Names that hold a backslash (a mount can make them) cannot be said in a path, but tree
// operations on a directory above see them as they are.
//
// Errors are the errno that Linux gives for the same call; functions that work on whole trees name
// the path that failed in the message.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <istream>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "agentfs/types.h"

namespace agentfs {

enum class FollowLinks : uint8_t { kNo, kYes };
enum class Recursion : uint8_t { kNo, kYes };
enum class Overwrite : uint8_t { kNo, kYes };

struct FileEntry {
  std::string name;
  std::string path;
  Attr attr;
};

// Thread-safe; holds its filesystem, and a copy of the caller's groups. Functions that can take
// long take a stop token and give ECANCELED when it is triggered before the work is done; a
// cancelled copy or delete of a tree leaves what it did so far.
class Files {
 public:
  explicit Files(std::shared_ptr<FileSystem> fs, Caller caller = {});

  // ---- asking
  Result<Found> Resolve(std::string_view path, FollowLinks follow = FollowLinks::kYes) const;
  bool Exists(std::string_view path) const;
  bool IsFile(std::string_view path) const;
  bool IsDirectory(std::string_view path) const;
  Result<FileEntry> Entry(std::string_view path, FollowLinks follow = FollowLinks::kNo) const;
  Result<std::vector<std::string>> ListNames(std::string_view path) const;  // sorted
  Result<std::vector<FileEntry>> ListEntries(std::string_view path) const;  // sorted by name
  Result<std::string> ReadSymlink(std::string_view path) const;

  // ---- whole files. Writing creates the file (mode 0666 less umask) but not its directory.
  // When a limit stops a write, the old content stays and a new file is not made.
  Result<std::string> ReadBytes(std::string_view path, std::stop_token stop = {}) const;
  // EILSEQ unless valid UTF-8; WriteText too.
  Result<std::string> ReadText(std::string_view path, std::stop_token stop = {}) const;
  // Lines end in "\n" or "\r\n", which are not part of them; the last one may end without.
  Result<std::vector<std::string>> ReadLines(std::string_view path,
                                             std::stop_token stop = {}) const;
  Result<void> WriteBytes(std::string_view path, std::string_view bytes,
                          std::stop_token stop = {}) const;
  Result<void> WriteText(std::string_view path, std::string_view text,
                         std::stop_token stop = {}) const;
  // Each line followed by "\n".
  Result<void> WriteLines(std::string_view path, const std::vector<std::string>& lines,
                          std::stop_token stop = {}) const;
  Result<void> Append(std::string_view path, std::string_view bytes,
                      std::stop_token stop = {}) const;

  // ---- streams. They report trouble by badbit; closing a writer flushes it to the view (flush()
  // first to see trouble). One thread at a time; a stream may outlive this object. Readers seek.
  Result<std::unique_ptr<std::istream>> OpenReader(std::string_view path) const;
  Result<std::unique_ptr<std::ostream>> OpenWriter(std::string_view path) const;  // truncates
  Result<std::unique_ptr<std::ostream>> OpenAppender(std::string_view path) const;

  // ---- trees
  Result<void> CreateDirectory(std::string_view path, uint32_t mode = 0777) const;
  // With the parents that are missing; a directory that is there already is fine.
  Result<void> CreateDirectories(std::string_view path, uint32_t mode = 0777) const;
  Result<void> CreateSymlink(std::string_view path, std::string_view target) const;
  Result<void> CreateHardLink(std::string_view existing, std::string_view path) const;
  // A symbolic link is deleted, not what it names; the root is EBUSY. Without recursion a directory
  // must be empty (ENOTEMPTY).
  Result<void> Delete(std::string_view path, Recursion recursion = Recursion::kNo,
                      std::stop_token stop = {}) const;
  // Copies a file, link, fifo, device or (with kYes; else EISDIR) a tree, with modes, times,
  // xattrs, holes and hard links among the copied, and owners if the caller is root; `to` is the
  // new name, not a directory to copy into. Links are copied, not followed. Content is shared where
  // possible. EINVAL: one of the two lies within the other. With Overwrite::kYes what is at `to` (a
  // directory if and only if `from` is one, else EISDIR or ENOTDIR) is replaced when the copy is
  // complete.
  Result<void> Copy(std::string_view from, std::string_view to,
                    Recursion recursion = Recursion::kNo, Overwrite overwrite = Overwrite::kNo,
                    std::stop_token stop = {}) const;
  // rename(2); with Overwrite::kNo EEXIST if there is something at `to`.
  Result<void> Move(std::string_view from, std::string_view to,
                    Overwrite overwrite = Overwrite::kNo) const;
  Result<void> SetMode(std::string_view path, uint32_t mode) const;
  Result<void> SetTimes(std::string_view path, Timestamp atime, Timestamp mtime) const;

  // Depth-first from `path` itself, parents before children, children by name; kStop from `visit`
  // ends the walk. Only `path` is followed if it is a link. `visit` may use the filesystem.
  Result<void> Walk(std::string_view path, const std::function<Visit(const FileEntry&)>& visit,
                    std::stop_token stop = {}) const;

  const std::shared_ptr<FileSystem>& filesystem() const { return fs_; }
  const Caller& caller() const { return caller_; }

 private:
  std::shared_ptr<FileSystem> fs_;
  std::shared_ptr<const std::vector<uint32_t>> groups_;  // what caller_.groups looks at
  Caller caller_;
};

// Runs `work` (any call above) on a thread of its own. The future is ready with ECANCELED if
// `stop` is triggered before it starts; pass the same token to the work to stop it half-way. EAGAIN
// when no thread can be had. The future's destructor waits for the work.
template <typename Work>
auto Async(std::stop_token stop, Work work) -> std::future<decltype(work())>;

// ---- archives: a tree as a tar stream (pax) compressed with zstd, and back.
// Everything below `path`, and `path` itself as "./": types, modes, owners, atime and mtime (ns),
// xattrs, hard links, sparse files. What is written is the state that a view shows, base included,
// so the archive stands alone. Files that change meanwhile give EBUSY: save a snapshot's view to be
// sure. tar knows no sockets: one is an empty file with the mark SCHILY.xattr.agentfs.socket, which
// LoadTree turns back. E2BIG: more than 512 KiB of xattrs on one node. `out` is flushed.
Result<void> SaveTree(const Files& files, std::string_view path, std::ostream& out,
                      std::stop_token stop = {});

// What an archive may contain: bytes after decompression (headers too), entries. Exceeding one is
// EFBIG or EOVERFLOW, and nothing has been changed.
enum class OutsideLinks : uint8_t { kKeep, kRefuse };
struct ArchiveLimits {
  uint64_t max_bytes = uint64_t{64} << 30;
  uint64_t max_entries = 10'000'000;
  // Symbolic links whose target is absolute or, by its names, not below `path`. kRefuse: EINVAL.
  OutsideLinks outside_links = OutsideLinks::kKeep;
};
// Replaces the directory at `path` (or makes it) by the archive's: afterwards it is exactly what
// was saved, and names that only the base has are gone. Takes tar in all its forms, with zstd or
// plain. Refuses (EINVAL) absolute names, "..", names through a symbolic link or a file of the
// archive, hard links to what is not in it; EBADMSG: damaged or no archive. A later entry of the
// same name replaces an earlier one. Owners are set only by root, and only root may load devices.
//
// The archive is checked whole first: it is read into `path`'s own filesystem under a temporary
// name (".agentfs-load-...", of the root ".agentfs-root-..."), which is then put in place: on error
// the tree is as it was. What a process that was killed has left, the next load there removes. Old
// and new tree exist together for a while and must fit the limits together. The exchange is one
// rename; only for the root it is one rename for each name in it, undone when one fails.
Result<void> LoadTree(const Files& files, std::string_view path, std::istream& in,
                      const ArchiveLimits& limits = {}, std::stop_token stop = {});

template <typename Work>
auto Async(std::stop_token stop, Work work) -> std::future<decltype(work())> {
  using Outcome = decltype(work());
  try {
    return std::async(std::launch::async, [stop, work = std::move(work)]() mutable -> Outcome {
      if (stop.stop_requested()) return Error(ECANCELED);
      return work();
    });
  } catch (const std::system_error&) {
    std::promise<Outcome> none;
    none.set_value(Error(EAGAIN, "cannot start a thread"));
    return none.get_future();
  }
}

}  // namespace agentfs
