// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "sys/fd.h"

namespace agentfs {
namespace {

// A table that changes all the time is taken as it is after so many.
constexpr int kMostReadings = 20;

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

template <typename T>
T Number(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// id parent major:minor root POINT options optional... - TYPE SOURCE superoptions
std::optional<MountEntry> ParseLine(std::string_view line) {
  const auto words = Words(line);
  size_t dash = 6;
  while (dash < words.size() && words[dash] != "-") ++dash;
  if (dash + 2 >= words.size()) return std::nullopt;
  MountEntry entry;
  entry.id = Number<uint64_t>(words[0]);
  const size_t colon = std::min(words[2].find(':'), words[2].size());
  entry.major = Number<uint32_t>(words[2].substr(0, colon));
  entry.minor = Number<uint32_t>(words[2].substr(std::min(colon + 1, words[2].size())));
  entry.root = Unescape(words[3]);
  entry.point = Unescape(words[4]);
  entry.type = Unescape(words[dash + 1]);
  entry.source = Unescape(words[dash + 2]);
  return entry;
}

Result<std::string> ReadToEnd(int fd) {
  std::string text;
  char piece[16 << 10];
  for (;;) {
    const ssize_t n = ::read(fd, piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError().WithContext("cannot read the table of mounts");
    if (n == 0) return text;
    text.append(piece, static_cast<size_t>(n));
  }
}

// Whether a mount came or went since this was last asked, or since the file was opened.
bool HasChanged(int fd) {
  struct pollfd wait = {fd, POLLPRI, 0};
  return ::poll(&wait, 1, 0) > 0 && (wait.revents & POLLPRI) != 0;
}

// The kernel gives a page at a time and lets mounts change in between, which before Linux 6.8 can
// make it leave out some that stay: so what changed while it was read is read again.
Result<std::vector<MountEntry>> ReadTable(const std::string& path) {
  for (int reading = 1;; ++reading) {
    AGENTFS_ASSIGN(Fd fd, OpenAt(AT_FDCWD, path, O_RDONLY));
    AGENTFS_ASSIGN(const std::string text, ReadToEnd(fd.get()));
    if (reading == kMostReadings || !HasChanged(fd.get())) return ParseMountInfo(text);
  }
}

template <typename Wanted>
Result<std::optional<MountEntry>> LastOf(const Wanted& wanted) {
  AGENTFS_ASSIGN(auto table, ReadMountTable());
  const auto found = std::find_if(table.rbegin(), table.rend(), wanted);
  if (found == table.rend()) return std::optional<MountEntry>();
  return std::optional<MountEntry>(std::move(*found));
}

}  // namespace

std::vector<MountEntry> ParseMountInfo(std::string_view text) {
  std::vector<MountEntry> entries;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto entry = ParseLine(text.substr(0, end))) entries.push_back(std::move(*entry));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

Result<std::vector<MountEntry>> ReadMountTable() { return ReadTable("/proc/self/mountinfo"); }

Result<std::vector<MountEntry>> ReadMountTableOf(uint32_t pid) {
  return ReadTable(fmt::format("/proc/{}/mountinfo", pid));
}

Result<std::optional<MountEntry>> TopMountAt(const std::string& point) {
  return LastOf([&](const MountEntry& entry) { return entry.point == point; });
}

Result<std::optional<MountEntry>> MountWithId(uint64_t id) {
  return LastOf([&](const MountEntry& entry) { return entry.id == id; });
}

}  // namespace agentfs
