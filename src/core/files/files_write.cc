// SPDX-License-Identifier: Apache-2.0
//
// Files: writing whole files.
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "agentfs/files.h"
#include "base/utf8.h"
#include "core/files/open_file.h"

namespace agentfs {
namespace {

// Another process may make or remove the file between our looking and our making it.
constexpr int kCreateAttempts = 16;

Result<void> WriteAll(FileSystem& fs, const Caller& caller, Node& node, std::string_view bytes) {
  for (size_t done = 0; done < bytes.size();) {
    std::span<const char> rest(bytes.data() + done, bytes.size() - done);
    AGENTFS_ASSIGN(size_t written, fs.Write(caller, node, done, rest));
    if (written == 0) return Error(EIO);
    done += written;
  }
  return Ok();
}

bool IsLimit(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

// Writes over the old content and then cuts it, so that a limit leaves the old content alone.
Result<void> WriteOver(FileSystem& fs, const Caller& caller, const Found& file,
                       std::string_view bytes) {
  Result<void> written = WriteAll(fs, caller, *file.node, bytes);
  AttrChange cut;
  cut.size = bytes.size();
  if (written.ok()) {
    if (file.attr.size > bytes.size()) AGENTFS_TRY(fs.SetAttr(caller, *file.node, cut));
    return Ok();
  }
  if (IsLimit(written.code())) return written;
  // What stands in the way may be the old content itself (a base that has drifted).
  cut.size = 0;
  AGENTFS_TRY(fs.SetAttr(caller, *file.node, cut));
  return WriteAll(fs, caller, *file.node, bytes);
}

}  // namespace

Result<OpenedFile> OpenForWriting(FileSystem& fs, const Caller& caller, std::string_view path,
                                  int flags) {
  Resolver resolver(fs, caller);
  for (int attempt = 0; attempt < kCreateAttempts; ++attempt) {
    AGENTFS_ASSIGN(Place place, resolver.FindPlace(path, FollowLinks::kYes));
    if (!place.exists()) {
      Result<Found> made = fs.Create(caller, *place.parent, place.name, 0666);
      if (made.code() == EEXIST) continue;
      if (!made.ok()) return std::move(made).error();
      place.found = std::move(*made);
      return OpenedFile{std::move(place), true};
    }
    if (S_ISDIR(place.found.attr.mode)) return Error(EISDIR);
    if (!S_ISREG(place.found.attr.mode)) return Error(EINVAL);
    AGENTFS_TRY(fs.Open(caller, *place.found.node, O_WRONLY | flags));
    return OpenedFile{std::move(place), false};
  }
  return Error(EAGAIN);
}

Result<void> Files::WriteBytes(std::string_view path, std::string_view bytes,
                               std::stop_token stop) const {
  if (stop.stop_requested()) return Error(ECANCELED);
  AGENTFS_ASSIGN(OpenedFile file, OpenForWriting(*fs_, caller_, path, 0));
  Found& found = file.place.found;
  if (!file.created) return WriteOver(*fs_, caller_, found, bytes);
  Result<void> written = WriteAll(*fs_, caller_, *found.node, bytes);
  if (!written.ok()) (void)fs_->Unlink(caller_, *file.place.parent, file.place.name);
  return written;
}

Result<void> Files::WriteText(std::string_view path, std::string_view text,
                              std::stop_token stop) const {
  if (!IsValidUtf8(text)) return Error(EILSEQ);
  return WriteBytes(path, text, std::move(stop));
}

Result<void> Files::WriteLines(std::string_view path, const std::vector<std::string>& lines,
                               std::stop_token stop) const {
  std::string bytes;
  for (const std::string& line : lines) bytes.append(line).push_back('\n');
  return WriteBytes(path, bytes, std::move(stop));
}

Result<void> Files::Append(std::string_view path, std::string_view bytes,
                           std::stop_token stop) const {
  if (stop.stop_requested()) return Error(ECANCELED);
  AGENTFS_ASSIGN(OpenedFile file, OpenForWriting(*fs_, caller_, path, O_APPEND));
  if (bytes.empty()) return Ok();
  Result<uint64_t> at = fs_->Append(caller_, *file.place.found.node, bytes);
  if (at.ok()) return Ok();
  if (file.created) (void)fs_->Unlink(caller_, *file.place.parent, file.place.name);
  return std::move(at).error();
}

}  // namespace agentfs
