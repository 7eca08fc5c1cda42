// SPDX-License-Identifier: Apache-2.0
#include "sys/small_file.h"

#include <fcntl.h>

#include <span>

#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kReadPiece = 16 << 10;

}  // namespace

Result<std::string> ReadSmallFile(const std::string& file) {
  auto fd = OpenAt(AT_FDCWD, file, O_RDONLY);
  if (!fd.ok()) return fd.error().WithContext(file);
  // In pieces: a buffer for the largest would cost every start of the program its pages.
  std::string text;
  for (;;) {
    const size_t at = text.size();
    text.resize(at + kReadPiece);
    auto size = ReadAt(fd->get(), at, std::span(text).subspan(at));
    if (!size.ok()) return size.error().WithContext(file);
    text.resize(at + *size);
    if (*size < kReadPiece) return text;
    if (text.size() >= kMaxBytes) return Error(EFBIG, file + " is too large");
  }
}

}  // namespace agentfs
