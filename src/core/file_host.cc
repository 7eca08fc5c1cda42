// SPDX-License-Identifier: Apache-2.0
//
// Content that comes as a host file, which somebody has written without us and may go on writing.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/attached_note.h"
#include "core/file_io.h"
#include "store/schema.h"
#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr uint64_t kGivenPiece = uint64_t{1} << 20;

// The pages of a host file that have data.
Result<std::vector<std::pair<uint64_t, uint64_t>>> DataPages(int file, uint64_t size) {
  std::vector<std::pair<uint64_t, uint64_t>> pages;
  for (uint64_t at = 0; at < size;) {
    const off_t data = ::lseek(file, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    const off_t hole = data < 0 ? -1 : ::lseek(file, data, SEEK_HOLE);
    if (hole < 0) return ErrnoError();
    at = static_cast<uint64_t>(hole);
    const uint64_t end = std::min(at, size);
    if (static_cast<uint64_t>(data) >= end) break;
    const uint64_t first = static_cast<uint64_t>(data) / kPageSize, last = (end - 1) / kPageSize;
    if (!pages.empty() && first <= pages.back().second + 1) {
      pages.back().second = last;
    } else {
      pages.emplace_back(first, last);
    }
  }
  return pages;
}

}  // namespace

Result<FileContent> FileIo::ObjectOf(const HostContent& from, uint64_t inode, uint64_t size,
                                     LayerId layer) {
  FileContent content;
  content.object_layer = layer;
  for (;;) {
    content.object = ObjectId(volume_.objects.Take());
    const bool shared = from.how == HostContent::How::kShared;
    auto object = shared ? volume_.blobs->Adopt(content.object, from.file)
                         : volume_.blobs->Create(content.object);
    if (object.code() == EEXIST) continue;  // left by a crash; gc removes it
    AGENTFS_TRY(object);
    content.open_object = std::move(*object);
    if (shared) content.host_file = inode;
    if (!shared) AGENTFS_TRY(content.open_object->CloneRange(from.file, 0, size, 0));
    return content;
  }
}

// Nothing but `data` is mapped afterwards; `before` are the spans with rows.
void FileIo::MapFile(Journal::Change& change, ViewNode& node, const std::vector<uint64_t>& before,
                     const std::vector<PageRange>& data) {
  for (uint64_t index : before) {
    if (node.content()->spans[index].runs.empty()) continue;
    MapInSpan(change, node, index, 0, kPagesPerSpan - 1, ObjectId());
  }
  for (const auto& [first, last] : data) {
    MapPages(change, node, first, last, node.content()->object);
  }
}

// What fits into chunks goes there. Written before it is cut: a crash leaves no file without
// content that had some.
Result<void> FileIo::TakeSmallLocked(const Caller& caller, ViewNode& node, const HostContent& from,
                                     uint64_t size) {
  const Timestamp mtime = from.modified.value_or(node.mtime);
  const Timestamp ctime = from.modified.value_or(node.ctime);
  std::vector<char> bytes(size);
  AGENTFS_ASSIGN(const size_t got, ReadAt(from.file, 0, bytes));
  bytes.resize(got);
  if (!bytes.empty()) AGENTFS_TRY(WriteLocked(caller, node, 0, bytes));
  const auto times = [&] {
    node.mtime = mtime;
    node.ctime = ctime;
  };
  return SetSizeLocked(node, size, times);
}

Result<void> FileIo::TakeLocked(const Caller& caller, ViewNode& node, const HostContent& from) {
  AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
  AGENTFS_TRY(nodes_.RefreshBaseLocked(node));
  for (;;) {
    AGENTFS_ASSIGN(const struct stat st, StatFd(from.file));
    const auto size = static_cast<uint64_t>(st.st_size);
    static_assert(kMaxHostContent == kMaxObjectSize);
    if (size > kMaxObjectSize) return Error(EFBIG);
    if (!UsesObjects(size) && node.kind != ContentKind::kObject) {
      return TakeSmallLocked(caller, node, from, size);
    }
    const LayerId layer = nodes_.open_layer();
    FileContent* content = node.content();
    const bool known = from.how == HostContent::How::kShared && node.kind == ContentKind::kObject &&
                       content->object_layer == layer && content->host_file == st.st_ino;
    FileContent fresh;
    std::vector<uint64_t> before;
    if (known) {
      AGENTFS_TRY(NeedObjectLocked(node));
      AGENTFS_ASSIGN(before, nodes_.RowsFromLocked(node, tables::kSpans, 0));
      for (uint64_t index : before) AGENTFS_TRY(nodes_.LoadSpanLocked(node, index));
    } else {
      AGENTFS_ASSIGN(fresh, ObjectOf(from, st.st_ino, size, layer));
    }
    AGENTFS_ASSIGN(const auto data, DataPages(from.file, size));
    Journal::Change change(nodes_.journal());
    if (nodes_.open_layer() != layer) continue;  // gc removes what nothing refers to
    if (!known) {
      nodes_.DropContent(change, node);
      node.NeedContent() = std::move(fresh);
      node.kind = ContentKind::kObject;
      node.content_id = ContentId(volume_.contents.Take());
    }
    if (from.last) node.content()->host_file = 0;
    RecordObject(change, node);
    MapFile(change, node, before, data);
    change.ObjectWritten(node.content()->open_object, Pages::kMapped);
    nodes_.SetSize(node, size);
    if (from.modified) node.mtime = node.ctime = *from.modified;
    nodes_.PutNode(change, node);
    RecordAttached(change, node);
    return Ok();
  }
}

// What is the same already is not written: holes stay holes.
Result<void> FileIo::GiveRangeLocked(ViewNode& node, int file, uint64_t offset, uint64_t length) {
  std::vector<char> wanted(std::min(length, kGivenPiece)), found(wanted.size());
  for (const uint64_t end = offset + length; offset < end; offset += wanted.size()) {
    wanted.resize(std::min<uint64_t>(wanted.size(), end - offset));
    AGENTFS_TRY(ReadFullyLocked(node, offset, wanted));
    AGENTFS_ASSIGN(const size_t got, ReadAt(file, offset, found));
    const bool same =
        got >= wanted.size() && std::equal(wanted.begin(), wanted.end(), found.begin());
    if (!same) AGENTFS_TRY(WriteAt(file, offset, wanted));
  }
  return Ok();
}

// Pages that are the file's own are left to it: who writes it may do so now.
Result<bool> FileIo::GiveLocked(ViewNode& node, const HostFile& to) {
  AGENTFS_ASSIGN(const struct stat st, StatFd(to.file));
  const uint64_t size = SizeLocked(node), found = static_cast<uint64_t>(st.st_size);
  const bool shared =
      node.kind == ContentKind::kObject && node.NeedContent().host_file == st.st_ino;
  // Of a file that both write, only what was appended to it is known to nobody.
  const bool written = shared ? found > size && found != to.size : to.written;
  if (written) return false;
  if (size > kMaxHostContent) return Error(EFBIG);
  if (found != size && ::ftruncate(to.file, static_cast<off_t>(size)) != 0) return ErrnoError();
  if (size == 0) return true;
  if (node.kind != ContentKind::kObject) {
    AGENTFS_TRY(GiveRangeLocked(node, to.file, 0, size));
    return true;
  }
  const ObjectId own = shared ? node.content()->object : ObjectId();
  AGENTFS_ASSIGN(const std::vector<Piece> pieces, PiecesLocked(node, 0, size));
  for (const Piece& piece : pieces) {
    if (piece.source == Piece::Source::kObject && piece.object == own) continue;
    AGENTFS_TRY(GiveRangeLocked(node, to.file, piece.offset, piece.length));
  }
  return true;
}

}  // namespace agentfs
