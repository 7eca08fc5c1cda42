// SPDX-License-Identifier: Apache-2.0
#include "sys/spill_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace agentfs {
namespace {

constexpr std::string_view kPrefix = "agentfs-spill.";

void RemoveTree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// Opens and locks the directory; no value if it is gone or its owner lives.
Fd LockDirectory(const std::string& path) {
  auto fd = OpenAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd.ok()) return Fd();
  auto st = StatFd(fd->get());
  if (!st.ok() || st->st_uid != ::geteuid()) return Fd();
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) return Fd();
  // Somebody may have removed it between the opening and the locking.
  st = StatFd(fd->get());
  if (!st.ok() || st->st_nlink == 0) return Fd();
  return std::move(fd).value();
}

void RemoveAbandoned(const std::string& parent) {
  std::error_code error;
  std::vector<std::string> candidates;
  for (std::filesystem::directory_iterator it(parent, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().native().starts_with(kPrefix)) candidates.push_back(it->path());
  }
  for (const std::string& path : candidates) {
    if (Fd lock = LockDirectory(path)) RemoveTree(path);
  }
}

}  // namespace

Result<std::unique_ptr<SpillDirectory>> SpillDirectory::Create(const std::string& parent) {
  RemoveAbandoned(parent);
  for (;;) {
    std::string path = parent + "/" + std::string(kPrefix) + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return ErrnoError().WithContext("cannot make a directory for temporary content in " + parent);
    }
    // Another process may take the fresh directory for an abandoned one; then there is a next try.
    if (Fd lock = LockDirectory(path)) {
      return std::unique_ptr<SpillDirectory>(new SpillDirectory(std::move(path), std::move(lock)));
    }
  }
}

SpillDirectory::~SpillDirectory() { RemoveTree(path_); }

}  // namespace agentfs
