// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/line_windows.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace agentfs::mcp {
namespace {

constexpr size_t kWindowPiece = 64 << 10;
constexpr size_t kMaxWindow = size_t{64} << 20;

Result<Found> OpenForLines(const Files& files, const std::string& path) {
  AGENTFS_ASSIGN(Found file, files.Resolve(path));
  if (S_ISDIR(file.attr.mode)) return Error(EISDIR);
  if (!S_ISREG(file.attr.mode)) return Error(EINVAL);
  AGENTFS_TRY(files.filesystem()->Open(files.caller(), *file.node, O_RDONLY));
  return file;
}

Result<void> CheckWindow(const std::string& text, const std::stop_token& stop) {
  if (stop.stop_requested()) return Error(ECANCELED);
  if (text.size() > kMaxWindow) return Error(EFBIG, "EFBIG: these lines have more than 64 MiB");
  return Ok();
}

// Where the last `count` lines of the text begin; npos: it has not so many.
size_t BeginOfLast(const std::string& text, uint64_t count) {
  size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (; count > 0; --count) {
    at = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (at == std::string::npos) return at;
  }
  return at + 1;
}

void DropLineEnd(std::string& text) {
  if (text.ends_with('\n')) text.pop_back();
}

}  // namespace

Result<std::string> FirstLines(const Files& files, const std::string& path, uint64_t count,
                               std::stop_token stop) {
  AGENTFS_ASSIGN(Found file, OpenForLines(files, path));
  std::string text;
  for (size_t scanned = 0; count > 0;) {
    AGENTFS_TRY(CheckWindow(text, stop));
    text.resize(scanned + kWindowPiece);
    AGENTFS_ASSIGN(const size_t n, files.filesystem()->Read(*file.node, scanned,
                                                            {text.data() + scanned, kWindowPiece}));
    text.resize(scanned + n);
    if (n == 0) break;
    for (; count > 0; --count) {
      const size_t end = text.find('\n', scanned);
      if (end == std::string::npos) break;
      scanned = end + 1;
    }
    if (count == 0) {
      text.resize(scanned);
    } else {
      scanned = text.size();
    }
  }
  DropLineEnd(text);
  return text;
}

Result<std::string> LastLines(const Files& files, const std::string& path, uint64_t count,
                              std::stop_token stop) {
  AGENTFS_ASSIGN(Found file, OpenForLines(files, path));
  std::string text;
  size_t begin = std::string::npos;
  uint64_t at = file.attr.size;
  while (at > 0 && begin == std::string::npos) {
    AGENTFS_TRY(CheckWindow(text, stop));
    // Doubling, so that the lines are looked through a few times only.
    const size_t size = std::min<uint64_t>(at, std::max(text.size(), kWindowPiece));
    std::string piece(size, '\0');
    AGENTFS_ASSIGN(const size_t n, files.filesystem()->Read(*file.node, at - size, piece));
    piece.resize(n);
    text = piece + text;
    at -= size;
    begin = BeginOfLast(text, count);
  }
  if (begin != std::string::npos) text.erase(0, begin);
  DropLineEnd(text);
  return text;
}

}  // namespace agentfs::mcp
