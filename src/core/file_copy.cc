// SPDX-License-Identifier: Apache-2.0
//
// Copying large files without reading them: the host shares the blocks (reflink) or copies them
// itself.
#include <algorithm>

#include "base/clock.h"
#include "core/file_io.h"
#include "core/permissions.h"

namespace agentfs {

// What the range consists of; empty if it cannot be shared page by page.
Result<std::vector<FileIo::HostPart>> FileIo::HostParts(ViewNode& source, uint64_t offset,
                                                        uint64_t length) {
  std::vector<Piece> pieces;
  BaseSource base;
  {
    AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, source, LockMode::kExclusive));
    const bool in_files = source.kind == ContentKind::kObject || source.kind == ContentKind::kBase;
    if (!source.IsRegular() || !in_files) return std::vector<HostPart>();
    AGENTFS_TRY(CheckEndLocked(source));
    AGENTFS_ASSIGN(pieces, PiecesLocked(source, offset, length));
    base = BaseOfLocked(source);
  }
  std::vector<HostPart> parts;
  for (const Piece& piece : pieces) {
    HostPart part{piece, nullptr, nullptr, -1};
    if (piece.source == Piece::Source::kObject) {
      AGENTFS_ASSIGN(part.object, volume_.blobs->Open(piece.object));
      part.descriptor = part.object->descriptor();
    } else if (piece.source == Piece::Source::kBase) {
      AGENTFS_ASSIGN(part.base, OpenBase(base));
      part.descriptor = part.base->descriptor();
    }
    const bool readable = part.descriptor >= 0 || piece.source == Piece::Source::kHole;
    if (!readable || piece.offset % kPageSize != 0) return std::vector<HostPart>();
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<void> FileIo::ShareLocked(ViewNode& target, const std::vector<HostPart>& parts,
                                 uint64_t from, uint64_t to) {
  for (const HostPart& part : parts) {
    if (part.descriptor < 0) continue;
    AGENTFS_TRY(target.content()->open_object->CloneRange(
        part.descriptor, part.piece.offset, part.piece.length, to + (part.piece.offset - from)));
  }
  return Ok();
}

Result<bool> FileIo::CloneRange(const Caller& caller, ViewNode& source, uint64_t from,
                                ViewNode& target, uint64_t to, uint64_t length) {
  const uint64_t end = to + length;
  const bool aligned = from % kPageSize == 0 && to % kPageSize == 0;
  if (&source == &target || !aligned || length <= volume_.layout.inline_limit || !UsesObjects(end))
    return false;
  AGENTFS_ASSIGN(auto parts, HostParts(source, from, length));
  if (parts.empty()) return false;
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, target, LockMode::kExclusive));
  if (!target.IsRegular()) return false;
  AGENTFS_TRY(CheckEndLocked(target));
  AGENTFS_TRY(CheckGrowth(target, end, length));
  while (true) {
    const LayerId layer = nodes_.open_layer();
    AGENTFS_TRY(nodes_.PrepareRecordLocked(target));
    AGENTFS_TRY(nodes_.RefreshBaseLocked(target));
    // A page that is copied in part keeps nothing of the target's: only the last may be one.
    if (length % kPageSize != 0 && end < target.size) return false;
    AGENTFS_TRY(ToSpansLocked(target));
    if (to > target.size) AGENTFS_TRY(ZeroTailLocked(target, to));
    AGENTFS_TRY(NeedObjectLocked(target));
    AGENTFS_TRY(LoadSpansLocked(target, to / kPageSize, (end - 1) / kPageSize));
    AGENTFS_TRY(ShareLocked(target, parts, from, to));
    Journal::Change change(nodes_.journal());
    if (nodes_.open_layer() != layer) continue;  // a snapshot came between: once more
    volume_.growing.End(change, target.content_id);
    RecordObject(change, target);
    for (const HostPart& part : parts) {
      const uint64_t start = to + (part.piece.offset - from);
      const ObjectId object = part.descriptor < 0 ? ObjectId() : target.content()->object;
      MapPages(change, target, start / kPageSize, (start + part.piece.length - 1) / kPageSize,
               object);
    }
    change.ObjectWritten(target.content()->open_object, Pages::kMapped);
    Written(change, caller, target, std::max(target.size, end));
    return true;
  }
}

}  // namespace agentfs
