// SPDX-License-Identifier: Apache-2.0
//
// The path API for embedders: whole-file and tree operations by path, on any FileSystem. Symbolic
// links are followed within the filesystem (at most 40), never outside. Paths go through
// NormalizePath.
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

// Thread-safe; holds its filesystem. Every function takes a stop token and gives ECANCELED when it
// is triggered before the work is done; a cancelled copy or delete leaves what it did so far.
class Files {
 public:
  explicit Files(std::shared_ptr<FileSystem> fs, Caller caller = {});

  // ---- asking
  Result<Found> Resolve(std::string_view path, FollowLinks follow = FollowLinks::kYes) const;
  bool Exists(std::string_view path) const;
  bool IsFile(std::string_view path) const;
  bool IsDirectory(std::string_view path) const;
  Result<FileEntry> Entry(std::string_view path, FollowLinks follow = FollowLinks::kNo) const;
  Result<std::vector<std::string>> ListNames(std::string_view path) const;    // sorted
  Result<std::vector<FileEntry>> ListEntries(std::string_view path) const;    // sorted by name
  Result<std::string> ReadSymlink(std::string_view path) const;

  // ---- whole files. Writing creates the file (mode 0666 less umask) but not its directory.
  Result<std::string> ReadBytes(std::string_view path) const;
  Result<std::string> ReadText(std::string_view path) const;  // EILSEQ unless valid UTF-8
  Result<std::vector<std::string>> ReadLines(std::string_view path) const;  // "\n" or "\r\n" ended
  Result<void> WriteBytes(std::string_view path, std::string_view bytes) const;
  Result<void> WriteText(std::string_view path, std::string_view text) const;
  Result<void> WriteLines(std::string_view path, const std::vector<std::string>& lines) const;
  Result<void> Append(std::string_view path, std::string_view bytes) const;

  // ---- streams. They report trouble by badbit; closing a writer flushes it to the view.
  Result<std::unique_ptr<std::istream>> OpenReader(std::string_view path) const;
  Result<std::unique_ptr<std::ostream>> OpenWriter(std::string_view path) const;   // truncates
  Result<std::unique_ptr<std::ostream>> OpenAppender(std::string_view path) const;

  // ---- trees
  Result<void> CreateDirectory(std::string_view path, uint32_t mode = 0777) const;
  Result<void> CreateDirectories(std::string_view path, uint32_t mode = 0777) const;
  Result<void> CreateSymlink(std::string_view path, std::string_view target) const;
  Result<void> CreateHardLink(std::string_view existing, std::string_view path) const;
  Result<void> Delete(std::string_view path, Recursion recursion = Recursion::kNo,
                      std::stop_token stop = {}) const;
  // Copies a file, link or (with kYes) a tree, with modes, times, xattrs and hard links among the
  // copied; `to` is the new name, not a directory to copy into. Content is shared where possible.
  Result<void> Copy(std::string_view from, std::string_view to,
                    Recursion recursion = Recursion::kNo, Overwrite overwrite = Overwrite::kNo,
                    std::stop_token stop = {}) const;
  Result<void> Move(std::string_view from, std::string_view to,
                    Overwrite overwrite = Overwrite::kNo) const;
  Result<void> SetMode(std::string_view path, uint32_t mode) const;
  Result<void> SetTimes(std::string_view path, Timestamp atime, Timestamp mtime) const;

  // Depth-first, parents before children, children by name; kStop from `visit` ends the walk.
  Result<void> Walk(std::string_view path, const std::function<Visit(const FileEntry&)>& visit,
                    std::stop_token stop = {}) const;

  const std::shared_ptr<FileSystem>& filesystem() const { return fs_; }
  const Caller& caller() const { return caller_; }

 private:
  std::shared_ptr<FileSystem> fs_;
  Caller caller_;
};

// Runs `work` (any call above) on a thread of its own. The future is ready with ECANCELED if
// `stop` is triggered before it starts; pass the same token to the work to stop it half-way.
template <typename Work>
auto Async(std::stop_token stop, Work work) -> std::future<decltype(work())>;

// ---- archives: a tree as a tar stream compressed with zstd, and back.
// Everything below `path`: types, modes, owners, times (ns), xattrs, hard links, sparse files.
Result<void> SaveTree(const Files& files, std::string_view path, std::ostream& out,
                      std::stop_token stop = {});

// What an archive may contain; exceeding one is EFBIG or EOVERFLOW, and nothing has been changed.
struct ArchiveLimits {
  uint64_t max_bytes = uint64_t{64} << 30;
  uint64_t max_entries = 10'000'000;
};
// Replaces the tree at `path` by the archive's. Refuses absolute names, "..", names through a
// symbolic link of the archive, and links that leave. The archive is checked whole first (it is
// read into `path`'s own filesystem under a temporary name, which is then put in place): on error
// the tree is as it was.
Result<void> LoadTree(const Files& files, std::string_view path, std::istream& in,
                      const ArchiveLimits& limits = {}, std::stop_token stop = {});

template <typename Work>
auto Async(std::stop_token stop, Work work) -> std::future<decltype(work())> {
  using Outcome = decltype(work());
  return std::async(std::launch::async, [stop, work = std::move(work)]() mutable -> Outcome {
    if (stop.stop_requested()) return Error(ECANCELED);
    return work();
  });
}

}  // namespace agentfs
