// SPDX-License-Identifier: Apache-2.0
#include "sys/small_file.h"

#include <fcntl.h>

#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

}  // namespace

Result<std::string> ReadSmallFile(const std::string& file) {
  auto fd = OpenAt(AT_FDCWD, file, O_RDONLY);
  if (!fd.ok()) return fd.error().WithContext(file);
  std::string text(kMaxBytes, '\0');
  auto size = ReadAt(fd->get(), 0, text);
  if (!size.ok()) return size.error().WithContext(file);
  if (*size == kMaxBytes) return Error(EFBIG, file + " is too large");
  text.resize(*size);
  return text;
}

}  // namespace agentfs
