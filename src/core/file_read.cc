// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "base/clock.h"
#include "core/file_io.h"

namespace agentfs {
namespace {

constexpr uint64_t kStreamed = uint64_t{1} << 20;
constexpr size_t kStreamedPart = size_t{64} << 10;
constexpr int64_t kRelatimeSeconds = 24 * 60 * 60;
constexpr int kObjectTries = 3;

bool AccessTimeIsStale(const ViewNode& node, const Timestamp& now) {
  return !(node.mtime < node.atime) || !(node.ctime < node.atime) ||
         now.sec - node.atime.sec >= kRelatimeSeconds;
}

}  // namespace

FileIo::BaseSource FileIo::BaseOfLocked(const ViewNode& node) const {
  BaseSource source;
  if (node.base == nullptr) return source;
  source.path = node.base->path;
  source.identity = node.id().value & (kBaseNodeBit - 1);
  if (!node.HasRecord()) return source;
  source.kept = node.base->signature;
  if (node.kind != ContentKind::kBase) source.expected = node.base->signature;
  return source;
}

Result<std::shared_ptr<BaseFile>> FileIo::OpenBase(const BaseSource& base) {
  auto drifted = [&] {
    return Error(EIO,
                 "/" + base.path +
                     " was changed in the base after the branch changed a part of it; the two "
                     "cannot be mixed",
                 "restore the base file, or discard the branch's version of it");
  };
  Result<std::shared_ptr<BaseFile>> file = volume_.base_files.Open(base.path, base.identity);
  bool good = file.ok();
  if (good && base.expected) {
    AGENTFS_ASSIGN(BaseStat stat, (*file)->Stat());
    good = stat.signature == *base.expected;
  }
  if (good) return file;
  if (base.kept) {
    Result<std::shared_ptr<BaseFile>> kept = volume_.kept.Open(base.identity, *base.kept);
    if (kept.code() != ENOENT) return kept;
  }
  const bool other = file.ok() || file.code() == ENOENT || file.code() == ESTALE;
  return base.expected && other ? drifted() : file.error();
}

Result<size_t> FileIo::ReadBase(const BaseSource& base, uint64_t offset, std::span<char> out) {
  AGENTFS_ASSIGN(auto file, OpenBase(base));
  return file->Read(offset, out);
}

uint64_t FileIo::SizeLocked(ViewNode& node) {
  if (node.kind != ContentKind::kBase) return node.size;
  Result<Attr> attr = nodes_.AttrLocked(node);
  return attr.ok() ? attr->size : node.size;
}

bool FileIo::CopyKnownChunks(ViewNode& node, uint64_t offset, std::span<char> out) {
  FileContent* content = node.content();
  if (content == nullptr) return false;
  while (!out.empty()) {
    const uint64_t index = offset / chunk_size();
    const size_t at = offset % chunk_size();
    const size_t length = std::min<size_t>(out.size(), chunk_size() - at);
    Chunk* chunk = content->FindChunk(index);
    if (chunk == nullptr || !chunk->known) return false;
    if (!chunk->layer && !chunk->present && offset < content->base_end) return false;
    const size_t have =
        chunk->present && chunk->bytes.size() > at ? std::min(length, chunk->bytes.size() - at) : 0;
    if (have > 0) std::memcpy(out.data(), chunk->bytes.data() + at, have);
    if (have < length) std::memset(out.data() + have, 0, length - have);
    out = out.subspan(length);
    offset += length;
  }
  return true;
}

// Reads piece by piece, loading what is not in memory. What the base has is not kept.
Result<size_t> FileIo::ReadChunksLocked(ViewNode& node, uint64_t offset, std::span<char> out) {
  const size_t total = out.size();
  while (!out.empty()) {
    const uint64_t index = offset / chunk_size();
    const size_t length = std::min<size_t>(out.size(), chunk_size() - offset % chunk_size());
    // Large parts of large files are read past the cache: who reads so much at once seldom reads
    // it again, and would push out what others do.
    FileContent& known = node.NeedContent();
    const Chunk* cached = known.FindChunk(index);
    if (length >= kStreamedPart && node.size > kStreamed && (cached == nullptr || !cached->known)) {
      AGENTFS_ASSIGN(const bool found,
                     nodes_.ReadChunkLocked(node, index, offset % chunk_size(), out.first(length)));
      if (found) {
        out = out.subspan(length);
        offset += length;
        continue;
      }
    }
    AGENTFS_TRY(nodes_.LoadChunkLocked(node, index));
    FileContent& content = *node.content();
    Chunk& chunk = content.chunk(index);
    std::span<char> piece = out.first(length);
    if (!chunk.layer && !chunk.present && offset < content.base_end) {
      const size_t from_base = std::min<uint64_t>(length, content.base_end - offset);
      AGENTFS_ASSIGN(size_t got, ReadBase(BaseOfLocked(node), offset, piece.first(from_base)));
      std::fill(piece.begin() + static_cast<ptrdiff_t>(got), piece.end(), 0);
    } else {
      CopyKnownChunks(node, offset, piece);
    }
    out = out.subspan(length);
    offset += length;
  }
  return total;
}

Result<std::vector<FileIo::Piece>> FileIo::PiecesLocked(ViewNode& node, uint64_t offset,
                                                        uint64_t length) {
  std::vector<Piece> pieces;
  const uint64_t file_end = offset + length;
  if (node.kind == ContentKind::kBase) {
    pieces.push_back({Piece::Source::kBase, ObjectId(), offset, length});
    return pieces;
  }
  const uint64_t base_end = node.content() ? node.content()->base_end : 0;
  auto add = [&](Piece::Source source, ObjectId object, uint64_t bytes) {
    Piece* last = pieces.empty() ? nullptr : &pieces.back();
    if (last != nullptr && last->source == source && last->object == object) {
      last->length += bytes;
    } else {
      pieces.push_back({source, object, offset, bytes});
    }
    offset += bytes;
  };
  auto add_unmapped = [&](uint64_t bytes) {
    const uint64_t base = offset < base_end ? std::min(bytes, base_end - offset) : 0;
    if (base > 0) add(Piece::Source::kBase, ObjectId(), base);
    if (bytes > base) add(Piece::Source::kHole, ObjectId(), bytes - base);
  };
  while (offset < file_end) {
    const uint64_t index = offset / kSpanSize;
    const uint64_t start = index * kSpanSize;
    const uint64_t end = std::min(file_end, start + kSpanSize);
    AGENTFS_ASSIGN(Span * span, nodes_.LoadSpanLocked(node, index));
    for (const Run& run : span->runs) {
      const uint64_t run_start = start + uint64_t{run.start} * kPageSize;
      const uint64_t run_end = run_start + uint64_t{run.count} * kPageSize;
      if (run_end <= offset || run_start >= end) continue;
      if (run_start > offset) add_unmapped(run_start - offset);
      add(run.object ? Piece::Source::kObject : Piece::Source::kHole, run.object,
          std::min(run_end, end) - offset);
    }
    if (offset < end) add_unmapped(end - offset);
  }
  return pieces;
}

Result<void> FileIo::ReadPieces(const std::vector<Piece>& pieces, const BaseSource& base,
                                std::span<char> out) {
  for (const Piece& piece : pieces) {
    const std::span<char> part = out.subspan(piece.offset - pieces[0].offset, piece.length);
    switch (piece.source) {
      case Piece::Source::kHole:
        std::fill(part.begin(), part.end(), 0);
        break;
      case Piece::Source::kObject: {
        AGENTFS_ASSIGN(auto object, volume_.blobs->Open(piece.object));
        AGENTFS_TRY(object->Read(piece.offset, part));
        break;
      }
      case Piece::Source::kBase: {
        AGENTFS_ASSIGN(size_t got, ReadBase(base, piece.offset, part));
        std::fill(part.begin() + static_cast<ptrdiff_t>(got), part.end(), 0);
        break;
      }
    }
  }
  return Ok();
}

Result<void> FileIo::ReadFullyLocked(ViewNode& node, uint64_t offset, std::span<char> out) {
  const uint64_t size = SizeLocked(node);
  const size_t inside =
      offset < size ? static_cast<size_t>(std::min<uint64_t>(out.size(), size - offset)) : 0;
  std::fill(out.begin() + static_cast<ptrdiff_t>(inside), out.end(), 0);
  out = out.first(inside);
  switch (node.kind) {
    case ContentKind::kNone:
      std::fill(out.begin(), out.end(), 0);
      return Ok();
    case ContentKind::kChunks:
      AGENTFS_TRY(ReadChunksLocked(node, offset, out));
      return Ok();
    case ContentKind::kObject: {
      AGENTFS_ASSIGN(auto pieces, PiecesLocked(node, offset, out.size()));
      return ReadPieces(pieces, BaseOfLocked(node), out);
    }
    case ContentKind::kBase: {
      AGENTFS_ASSIGN(size_t got, ReadBase(BaseOfLocked(node), offset, out));
      std::fill(out.begin() + static_cast<ptrdiff_t>(got), out.end(), 0);
      return Ok();
    }
  }
  return Error(EIO);
}

Result<size_t> FileIo::Read(ViewNode& node, uint64_t offset, std::span<char> out) {
  // Large files are read without the lock; a file emptied meanwhile loses its object.
  Result<size_t> got = ReadOnce(node, offset, out);
  for (int i = 0; i < kObjectTries && got.code() == ENOENT; ++i) got = ReadOnce(node, offset, out);
  if (got.code() != ENOENT) return got;
  return Error(EIO,
               "content of node " + std::to_string(node.id().value) + " is missing from objects/",
               "run `agentfs fsck`");
}

Result<size_t> FileIo::ReadOnce(ViewNode& node, uint64_t offset, std::span<char> out) {
  std::vector<Piece> pieces;
  BaseSource base;
  bool whole_base = false, touch = false;
  {
    AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
    if (node.IsDirectory()) return Error(EISDIR);
    if (!node.IsRegular()) return Error(EINVAL);
    AGENTFS_TRY(CheckEndLocked(node));
    whole_base = node.kind == ContentKind::kBase;
    base = BaseOfLocked(node);
    touch = WantsAccessTime(node);
    if (!whole_base) {
      if (offset >= node.size) return size_t{0};
      out = out.first(std::min<uint64_t>(out.size(), node.size - offset));
      if (node.kind == ContentKind::kChunks && CopyKnownChunks(node, offset, out)) {
        lock.Unlock();
        if (touch) TouchAccessTime(node);
        return out.size();
      }
    }
  }
  if (whole_base) {
    if (offset == 0) volume_.read_ahead.Read(base.path, base.identity);
    AGENTFS_ASSIGN(const size_t count, ReadBase(base, offset, out));
    if (touch && count > 0) TouchAccessTime(node);
    return count;
  }
  {
    AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
    if (offset >= node.size) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), node.size - offset));
    base = BaseOfLocked(node);
    if (node.kind == ContentKind::kObject) {
      AGENTFS_ASSIGN(pieces, PiecesLocked(node, offset, out.size()));
    } else {
      AGENTFS_TRY(ReadFullyLocked(node, offset, out));
    }
  }
  AGENTFS_TRY(ReadPieces(pieces, base, out));
  if (touch) TouchAccessTime(node);
  return out.size();
}

bool FileIo::WantsAccessTime(const ViewNode& node) const {
  return !nodes_.read_only() && node.HasRecord() && AccessTimeIsStale(node, Now());
}

// Best effort: a read does not fail because its time could not be noted.
void FileIo::TouchAccessTime(ViewNode& node) {
  Result<NodeLock> lock = NodeLock::Take(nodes_, node, LockMode::kExclusive);
  if (lock.ok()) TouchAccessTimeLocked(node);
}

void FileIo::TouchAccessTimeLocked(ViewNode& node) {
  if (!WantsAccessTime(node)) return;
  Journal::Change change(nodes_.journal());
  node.atime = Now();
  // A read creates no state: where the layer has no record of the node, memory has to do.
  if (node.layer == nodes_.open_layer()) nodes_.PutNode(change, node);
}

}  // namespace agentfs
