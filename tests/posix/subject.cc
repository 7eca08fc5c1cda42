// SPDX-License-Identifier: Apache-2.0
#include "subject.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace agentfs::posix {

Identity ProcessIdentity() {
  Identity self{::geteuid(), ::getegid(), {}, 022};
  const int count = ::getgroups(0, nullptr);
  if (count > 0) {
    self.groups.resize(static_cast<size_t>(count));
    if (::getgroups(count, self.groups.data()) < 0) self.groups.clear();
  }
  return self;
}

std::string ErrnoName(int code) {
  const char* name = code == 0 ? "0" : ::strerrorname_np(code);
  return name ? name : std::to_string(code);
}

std::string Pattern(size_t size, uint32_t seed) {
  std::string out(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (char& c : out) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 24 | 1);  // never zero: a lost byte cannot look like a hole
  }
  return out;
}

Result<void> Subject::WriteFile(std::string_view path, std::string_view content, uint32_t mode) {
  AGENTFS_ASSIGN(auto file, Open(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
  for (size_t done = 0; done < content.size();) {
    AGENTFS_ASSIGN(const size_t count, file->Write(done, content.substr(done)));
    if (count == 0) return Error(EIO);
    done += count;
  }
  return Ok();
}

Result<std::string> Subject::ReadFile(std::string_view path) {
  AGENTFS_ASSIGN(auto file, Open(path, O_RDONLY));
  std::string content;
  for (;;) {
    AGENTFS_ASSIGN(std::string piece, file->Read(content.size(), 1 << 20));
    if (piece.empty()) return content;
    content += piece;
  }
}

Result<std::vector<Entry>> Subject::List(std::string_view path) {
  AGENTFS_ASSIGN(auto directory, Open(path, O_RDONLY | O_DIRECTORY));
  return directory->List(0, SIZE_MAX);
}

}  // namespace agentfs::posix
