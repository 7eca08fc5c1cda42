// SPDX-License-Identifier: Apache-2.0
#include "cli/spec/settled_copy.h"

#include <fcntl.h>
#include <stdlib.h>

#include <filesystem>

#include "stores/sqlite/connection.h"

namespace agentfs::cli {
namespace {

namespace fs = std::filesystem;

// Removed with all that is in it.
struct ScratchDirectory {
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  std::string path;
};

Result<void> CopyTo(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) return Error(error.value()).WithContext("cannot copy " + from);
  return Ok();
}

}  // namespace

Result<Fd> SettledCopy(const std::string& file) {
  std::error_code ignored;
  const auto size = fs::file_size(file + "-wal", ignored);
  if (ignored || size == 0) return Fd();
  ScratchDirectory scratch;
  std::string name = (fs::temp_directory_path(ignored) / "agentfs-import-XXXXXX").native();
  if (::mkdtemp(name.data()) == nullptr) return ErrnoError().WithContext(name);
  scratch.path = name;
  const std::string copy = name + "/copy.db";
  AGENTFS_TRY(CopyTo(file, copy));
  AGENTFS_TRY(CopyTo(file + "-wal", copy + "-wal"));
  {
    AGENTFS_ASSIGN(const auto database, Connection::Open(copy, agentfs::Access::kReadWrite));
    AGENTFS_TRY(database->QueryInt("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  Fd settled(::open(copy.c_str(), O_RDONLY | O_CLOEXEC));
  if (!settled) return ErrnoError().WithContext(copy);
  return settled;
}

}  // namespace agentfs::cli
