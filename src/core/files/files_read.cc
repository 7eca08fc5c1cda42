// SPDX-License-Identifier: Apache-2.0
//
// Files: asking, and reading whole files.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "agentfs/files.h"
#include "agentfs/path.h"
#include "base/utf8.h"
#include "core/files/resolver.h"
#include "core/files/tree_walker.h"

namespace agentfs {
namespace {

constexpr size_t kReadStep = size_t{16} << 20;

// Makes room for `size` bytes; ENOMEM where memory ends.
Result<void> Resize(std::string& bytes, size_t size) {
  try {
    bytes.resize(size);
    return Ok();
  } catch (const std::bad_alloc&) {
    return Error(ENOMEM);
  } catch (const std::length_error&) {
    return Error(ENOMEM);
  }
}

// All of an open file, however its size changes meanwhile.
Result<std::string> ReadAll(FileSystem& fs, const Found& file, const std::stop_token& stop) {
  std::string bytes;
  size_t filled = 0;
  uint64_t expected = file.attr.size;
  for (;;) {
    if (stop.stop_requested()) return Error(ECANCELED);
    uint64_t left = expected > filled ? expected - filled : 1;
    if (bytes.size() == filled) {
      AGENTFS_TRY(Resize(bytes, filled + std::min<uint64_t>(left, kReadStep)));
    }
    std::span<char> room(bytes.data() + filled, bytes.size() - filled);
    AGENTFS_ASSIGN(size_t got, fs.Read(*file.node, filled, room));
    filled += got;
    if (got < room.size()) break;
    if (filled < expected) continue;
    // Filled to the expected size: at the end, unless the file has grown.
    AGENTFS_ASSIGN(Attr now, fs.GetAttr(*file.node));
    if (now.size <= filled) break;
    expected = now.size;
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

Files::Files(std::shared_ptr<FileSystem> fs, Caller caller)
    : fs_(std::move(fs)),
      groups_(std::make_shared<const std::vector<uint32_t>>(caller.groups.begin(),
                                                            caller.groups.end())),
      caller_(caller) {
  caller_.groups = *groups_;
}

Result<Found> Files::Resolve(std::string_view path, FollowLinks follow) const {
  return Resolver(*fs_, caller_).Find(path, follow);
}

bool Files::Exists(std::string_view path) const { return Resolve(path).ok(); }

bool Files::IsFile(std::string_view path) const {
  Result<Found> found = Resolve(path);
  return found.ok() && S_ISREG(found->attr.mode);
}

bool Files::IsDirectory(std::string_view path) const {
  Result<Found> found = Resolve(path);
  return found.ok() && S_ISDIR(found->attr.mode);
}

Result<FileEntry> Files::Entry(std::string_view path, FollowLinks follow) const {
  AGENTFS_ASSIGN(std::string normal, NormalizePath(path));
  AGENTFS_ASSIGN(Found found, Resolve(normal, follow));
  std::string name(FileName(normal));
  return FileEntry{std::move(name), std::move(normal), found.attr};
}

Result<std::vector<std::string>> Files::ListNames(std::string_view path) const {
  AGENTFS_ASSIGN(Found found, Resolve(path));
  if (!S_ISDIR(found.attr.mode)) return Error(ENOTDIR);
  return SortedNames(*fs_, caller_, *found.node);
}

Result<std::vector<FileEntry>> Files::ListEntries(std::string_view path) const {
  AGENTFS_ASSIGN(std::string normal, NormalizePath(path));
  AGENTFS_ASSIGN(Found found, Resolve(normal));
  if (!S_ISDIR(found.attr.mode)) return Error(ENOTDIR);
  AGENTFS_TRY(fs_->Open(caller_, *found.node, O_RDONLY | O_DIRECTORY));
  if (normal.size() > 1) normal += '/';
  std::vector<FileEntry> entries;
  AGENTFS_TRY(fs_->ReadDirectoryPlus(caller_, *found.node, 0,
                                     [&](const DirEntry& entry, const Found& child) {
                                       std::string name(entry.name);
                                       entries.push_back({name, normal + name, child.attr});
                                       return Visit::kContinue;
                                     }));
  std::sort(entries.begin(), entries.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
  return entries;
}

Result<std::string> Files::ReadSymlink(std::string_view path) const {
  AGENTFS_ASSIGN(Found found, Resolve(path, FollowLinks::kNo));
  if (!S_ISLNK(found.attr.mode)) return Error(EINVAL);
  return fs_->ReadLink(caller_, *found.node);
}

Result<std::string> Files::ReadBytes(std::string_view path, std::stop_token stop) const {
  AGENTFS_ASSIGN(Found file, Resolve(path));
  if (S_ISDIR(file.attr.mode)) return Error(EISDIR);
  if (!S_ISREG(file.attr.mode)) return Error(EINVAL);
  AGENTFS_TRY(fs_->Open(caller_, *file.node, O_RDONLY));
  return ReadAll(*fs_, file, stop);
}

Result<std::string> Files::ReadText(std::string_view path, std::stop_token stop) const {
  AGENTFS_ASSIGN(std::string text, ReadBytes(path, std::move(stop)));
  if (!IsValidUtf8(text)) return Error(EILSEQ);
  return text;
}

Result<std::vector<std::string>> Files::ReadLines(std::string_view path,
                                                  std::stop_token stop) const {
  AGENTFS_ASSIGN(std::string bytes, ReadBytes(path, std::move(stop)));
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < bytes.size();) {
    size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view line(bytes.data() + begin, end - begin);
    if (end < bytes.size() && line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    begin = end + 1;
  }
  return lines;
}

}  // namespace agentfs
