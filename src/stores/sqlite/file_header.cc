// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/file_header.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "store/file_version.h"
#include "stores/sqlite/sqlite_error.h"

namespace agentfs {
namespace {

// https://www.sqlite.org/fileformat.html#the_database_header
constexpr size_t kHeaderSize = 100;
constexpr size_t kUserVersionAt = 60;
constexpr size_t kApplicationIdAt = 68;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};

uint32_t BigEndian(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}

Error SystemError(const std::string& file, int code) {
  return Error(code, "cannot read '" + file + "': " + std::generic_category().message(code),
               RemedyFor(code, file));
}

Error NotOurs(const std::string& file, std::string_view why) {
  return Error(EINVAL, "cannot open '" + file + "': " + std::string(why),
               "name another file; this one was not changed");
}

// The start of the file, or nullopt-like emptiness; ENOENT if there is no file.
Result<std::string> ReadHeader(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(file, errno);
  struct stat status;
  std::string header(kHeaderSize, '\0');
  ssize_t size = -1;
  int code = 0;
  if (::fstat(fd, &status) != 0) {
    code = errno;
  } else if (!S_ISREG(status.st_mode)) {
    code = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  } else if ((size = ::pread(fd, header.data(), header.size(), 0)) < 0) {
    code = errno;
  }
  ::close(fd);
  if (code != 0) return SystemError(file, code);
  header.resize(size);
  return header;
}

}  // namespace

Result<FileState> InspectFile(const std::string& file, const Schema& schema) {
  auto header = ReadHeader(file);
  if (header.code() == ENOENT) return FileState::kMissing;
  if (!header.ok()) return Error(header.error());
  if (header->empty()) return FileState::kEmpty;
  // A journal beside it means that its making was cut off: SQLite will roll it back to nothing.
  const bool unfinished = ::access((file + "-journal").c_str(), F_OK) == 0;
  if (header->size() < kHeaderSize || std::string_view(*header).substr(0, 16) != kMagic) {
    return NotOurs(file, "it is not an SQLite database");
  }
  const uint32_t application = BigEndian(header->data() + kApplicationIdAt);
  if (application == 0 && unfinished) return FileState::kEmpty;
  if (application != kApplicationId) return NotOurs(file, "it is another program's database");
  AGENTFS_TRY(CheckVersion(file, BigEndian(header->data() + kUserVersionAt), schema));
  return FileState::kOurs;
}

}  // namespace agentfs
