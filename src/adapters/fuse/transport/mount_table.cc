// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/mount_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "sys/fd.h"

namespace agentfs::fuse {
namespace {

std::string_view NextField(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

template <typename T>
T Number(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes white space and backslashes as \ooo.
std::string Unescaped(std::string_view text) {
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

// "36 35 98:0 /root /point options optional... - type source superoptions"
std::optional<MountEntry> ParseLine(std::string_view line) {
  MountEntry entry;
  entry.id = Number<uint64_t>(NextField(line));
  NextField(line);
  const std::string_view device = NextField(line);
  const size_t colon = std::min(device.find(':'), device.size());
  entry.major = Number<uint32_t>(device.substr(0, colon));
  entry.minor = Number<uint32_t>(device.substr(std::min(colon + 1, device.size())));
  NextField(line);
  entry.point = Unescaped(NextField(line));
  while (!line.empty() && NextField(line) != "-") {
  }
  entry.type = Unescaped(NextField(line));
  entry.source = Unescaped(NextField(line));
  if (entry.id == 0 || entry.type.empty()) return std::nullopt;
  return entry;
}

template <typename Wanted>
std::optional<MountEntry> LastOf(const Wanted& wanted) {
  auto table = ReadMountTable();
  if (!table.ok()) return std::nullopt;
  const auto found = std::find_if(table->rbegin(), table->rend(), wanted);
  if (found == table->rend()) return std::nullopt;
  return std::move(*found);
}

}  // namespace

std::vector<MountEntry> ParseMountTable(std::string_view text) {
  std::vector<MountEntry> table;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto entry = ParseLine(text.substr(0, end))) table.push_back(std::move(*entry));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return table;
}

Result<std::vector<MountEntry>> ReadMountTable() {
  AGENTFS_ASSIGN(Fd file, OpenAt(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY));
  std::string text;
  std::string part(1 << 16, '\0');
  ssize_t got;
  while ((got = ::read(file.get(), part.data(), part.size())) > 0) {
    text.append(part, 0, static_cast<size_t>(got));
  }
  if (got < 0) return ErrnoError().WithContext("cannot read the table of mounts");
  return ParseMountTable(text);
}

std::optional<MountEntry> TopMountAt(const std::string& point) {
  return LastOf([&](const MountEntry& entry) { return entry.point == point; });
}

std::optional<MountEntry> MountWithId(uint64_t id) {
  return LastOf([&](const MountEntry& entry) { return entry.id == id; });
}

}  // namespace agentfs::fuse
