// SPDX-License-Identifier: Apache-2.0
#include "workspace/file_content.h"

#include <algorithm>
#include <vector>

namespace agentfs {
namespace {

constexpr size_t kPiece = size_t{128} << 10;
// Smaller files are read through: asking for their holes costs more.
constexpr uint64_t kLooksForHoles = uint64_t{4} << 20;

// Where the next data is, at most `size`.
Result<uint64_t> NextData(FileSystem& fs, Node& file, uint64_t at, uint64_t size) {
  if (size < kLooksForHoles) return at;
  Result<uint64_t> data = fs.Seek(file, at, SeekTarget::kData);
  if (data.ok()) return std::min(*data, size);
  if (data.code() == ENXIO) return size;
  return data.error();
}

}  // namespace

Result<void> ReadData(FileSystem& fs, Node& file, uint64_t size,
                      const std::function<Result<void>(uint64_t, std::string_view)>& take) {
  std::vector<char> piece(std::min<uint64_t>(size, kPiece));
  for (uint64_t at = 0; at < size;) {
    AGENTFS_ASSIGN(at, NextData(fs, file, at, size));
    // Extents are not asked for: a hole inside a piece is given as zeros.
    const size_t wanted = std::min<uint64_t>(piece.size(), size - at);
    if (wanted == 0) break;
    AGENTFS_ASSIGN(const size_t got, fs.Read(file, at, {piece.data(), wanted}));
    if (got != wanted) return Error(EBUSY, "the file is being changed");
    AGENTFS_TRY(take(at, {piece.data(), got}));
    at += got;
  }
  return Ok();
}

Result<void> ReadPieces(FileSystem& fs, Node& file, uint64_t size,
                        const std::function<Result<void>(std::string_view)>& take) {
  const std::string zeros(std::min<uint64_t>(size, kPiece), '\0');
  uint64_t given = 0;
  auto fill_to = [&](uint64_t end) -> Result<void> {
    while (given < end) {
      const size_t part = std::min<uint64_t>(zeros.size(), end - given);
      AGENTFS_TRY(take(std::string_view(zeros).substr(0, part)));
      given += part;
    }
    return Ok();
  };
  AGENTFS_TRY(ReadData(fs, file, size, [&](uint64_t at, std::string_view data) -> Result<void> {
    AGENTFS_TRY(fill_to(at));
    given += data.size();
    return take(data);
  }));
  return fill_to(size);
}

Result<std::string> ReadWhole(FileSystem& fs, Node& file, uint64_t size) {
  std::string whole;
  whole.reserve(size);
  AGENTFS_TRY(ReadPieces(fs, file, size, [&](std::string_view piece) {
    whole += piece;
    return Ok();
  }));
  return whole;
}

Result<bool> SameBytes(FileSystem& a_fs, const Found& a, FileSystem& b_fs, const Found& b) {
  if (a.attr.size != b.attr.size) return false;
  const uint64_t size = a.attr.size;
  std::vector<char> left(std::min<uint64_t>(size, kPiece)), right(left.size());
  for (uint64_t at = 0; at < size;) {
    AGENTFS_ASSIGN(const uint64_t a_data, NextData(a_fs, *a.node, at, size));
    AGENTFS_ASSIGN(const uint64_t b_data, NextData(b_fs, *b.node, at, size));
    at = std::min(a_data, b_data);
    if (at >= size) break;
    AGENTFS_ASSIGN(const size_t got, a_fs.Read(*a.node, at, left));
    AGENTFS_ASSIGN(const size_t other, b_fs.Read(*b.node, at, right));
    if (got != other || !std::equal(left.begin(), left.begin() + got, right.begin())) return false;
    if (got == 0) break;
    at += got;
  }
  return true;
}

Result<std::map<std::string, std::string>> ReadXattrs(FileSystem& fs, Node& node) {
  std::map<std::string, std::string> xattrs;
  Result<std::vector<std::string>> names = fs.ListXattrs(Caller{}, node);
  if (names.code() == EOPNOTSUPP) return xattrs;
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    Result<std::string> value = fs.GetXattr(Caller{}, node, name);
    if (value.ok()) xattrs[name] = std::move(*value);
  }
  return xattrs;
}

}  // namespace agentfs
