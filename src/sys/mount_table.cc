// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.h"

#include <fcntl.h>
#include <unistd.h>

#include "sys/fd.h"

namespace agentfs {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// Spaces, tabs, newlines and backslashes are written as \ooo.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) &&
        IsOctal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t space = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return words;
}

}  // namespace

std::vector<MountEntry> ParseMountInfo(std::string_view text) {
  std::vector<MountEntry> entries;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto words = Words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    // id parent device root POINT options optional... - TYPE SOURCE superoptions
    size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 2 >= words.size()) continue;
    entries.push_back({Unescape(words[4]), Unescape(words[dash + 1]), Unescape(words[dash + 2])});
  }
  return entries;
}

Result<std::vector<MountEntry>> ReadMountTable() {
  AGENTFS_ASSIGN(Fd fd, OpenAt(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY));
  std::string text;
  char piece[16 << 10];
  for (;;) {
    const ssize_t n = ::read(fd.get(), piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError();
    if (n == 0) return ParseMountInfo(text);
    text.append(piece, static_cast<size_t>(n));
  }
}

}  // namespace agentfs
