// SPDX-License-Identifier: Apache-2.0
//
// Changing a directory of the host, never anything outside of it: every path is resolved beneath an
// open handle, and no symbolic link on the way is followed.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/types.h"
#include "sys/fd.h"

namespace agentfs {

// What a file has besides its content.
struct HostAttributes {
  uint32_t mode = 0;  // with the type
  uint32_t uid = 0, gid = 0;
  Timestamp atime, mtime;
  std::map<std::string, std::string> xattrs;
};

// Thread-safe. Paths have no leading slash; "" is the directory itself. A link on the way gives
// ELOOP, a way out EXDEV.
class HostTree {
 public:
  static Result<HostTree> Open(const std::string& directory);
  // The same, and below the path `prefix` another directory: paths there are resolved beneath that.
  static Result<HostTree> Open(const std::string& directory, std::string prefix,
                               const std::string& other);

  int descriptor() const { return root_.get(); }
  // lstat(2); none if there is nothing.
  Result<std::optional<struct stat>> Stat(std::string_view path) const;
  Result<Fd> OpenDirectory(std::string_view path) const;
  Result<std::vector<std::string>> List(std::string_view path) const;  // a directory's names
  Result<Fd> OpenFile(std::string_view path, int flags) const;         // an existing regular file
  Result<Fd> CreateFile(std::string_view path) const;                  // mode 0600; EEXIST
  Result<void> MakeDirectory(std::string_view path) const;             // mode 0700; EEXIST
  Result<void> MakeSymlink(const std::string& target, std::string_view path) const;
  Result<void> MakeNode(std::string_view path, uint32_t mode, uint64_t rdev) const;
  Result<std::string> ReadLink(std::string_view path) const;
  Result<void> Unlink(std::string_view path) const;
  Result<void> RemoveDirectory(std::string_view path) const;

  enum class Replace : bool { kNo, kYes };
  Result<void> Rename(std::string_view from, const HostTree& to_tree, std::string_view to,
                      Replace replace) const;
  Result<void> Link(std::string_view from, const HostTree& to_tree, std::string_view to) const;

  Result<HostAttributes> GetAttributes(std::string_view path) const;
  // The owner only if this process may (root); extended attributes as far as the host has them.
  Result<void> SetAttributes(std::string_view path, const HostAttributes& attributes) const;

  // Copies a file, link or special file, with its attributes, to a path that is free.
  Result<void> Copy(std::string_view from, const HostTree& to_tree, std::string_view to) const;
  // Makes the content of an existing file that of another, in place.
  Result<void> Overwrite(std::string_view path, const HostTree& from_tree,
                         std::string_view from) const;
  Result<void> SyncDirectory(std::string_view path) const;

 private:
  struct Place {
    Fd directory;
    std::string name;
  };
  explicit HostTree(Fd root) : root_(std::move(root)) {}
  Result<Place> Find(std::string_view path) const;
  Result<Fd> OpenIn(std::string_view path, int flags) const;

  Fd root_;
  std::string prefix_;  // empty: there is no other
  Fd other_;
};

}  // namespace agentfs
