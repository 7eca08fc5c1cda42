// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "core/attached_note.h"
#include "core/file_io.h"
#include "core/permissions.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// Room for a chunk that has grown before: doubling, so that appending is linear.
size_t RoomFor(size_t size, size_t old_capacity, size_t most) {
  if (old_capacity == 0) return size;
  return std::min<size_t>(most, std::max(size, old_capacity * 2));
}

}  // namespace

bool FileIo::UsesObjects(uint64_t size) const {
  return size > volume_.layout.inline_limit && size <= kMaxObjectSize && volume_.blobs != nullptr &&
         !volume_.options.single_file;
}

Result<void> FileIo::CheckGrowth(const ViewNode& node, uint64_t end, uint64_t length) const {
  const Limits& limits = volume_.options.limits;
  if (end > kMaxFileSize) return Error(EFBIG);
  if (limits.max_file_bytes != 0 && end > limits.max_file_bytes && end > node.size) {
    return Error(EFBIG);
  }
  if (limits.max_total_bytes == 0) return Ok();
  const bool in_place = end <= node.size && node.layer == nodes_.open_layer();
  const uint64_t stored = static_cast<uint64_t>(std::max<int64_t>(0, volume_.stored_bytes.load()));
  if (!in_place && stored + length > limits.max_total_bytes) return Error(ENOSPC);
  return Ok();
}

Result<size_t> FileIo::WriteLocked(const Caller& caller, ViewNode& node, uint64_t offset,
                                   std::span<const char> data) {
  if (data.empty()) return size_t{0};
  if (offset > kMaxFileSize || data.size() > kMaxFileSize - offset) return Error(EFBIG);
  const uint64_t end = offset + data.size();
  AGENTFS_TRY(CheckEndLocked(node));
  AGENTFS_TRY(CheckGrowth(node, end, data.size()));
  if (node.kind == ContentKind::kObject && end > kMaxObjectSize) return Error(EFBIG);
  while (true) {
    const LayerId layer = nodes_.open_layer();
    AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
    AGENTFS_TRY(nodes_.RefreshBaseLocked(node));
    const uint64_t size = std::max(node.size, end);
    const bool objects = node.kind == ContentKind::kObject || UsesObjects(size);
    if (objects) {
      AGENTFS_TRY(TryPagesLocked(node, offset, data));
    } else {
      AGENTFS_TRY(PrepareChunksLocked(node, offset, data.size()));
    }
    Journal::Change change(nodes_.journal());
    // A snapshot was taken meanwhile: what we wrote in place is its now; write to the new layer.
    if (nodes_.open_layer() != layer) continue;
    if (objects) {
      PutPages(change, caller, node, offset, size, data.size());
    } else {
      StartChunks(node);
      PutChunks(change, node, offset, data);
      Written(change, caller, node, size);
    }
    return data.size();
  }
}

void FileIo::PutPages(Journal::Change& change, const Caller& caller, ViewNode& node,
                      uint64_t offset, uint64_t size, size_t length) {
  const uint64_t needed = node.content()->needed_batch;
  const bool recorded = node.content()->object_recorded;
  RecordObject(change, node);
  const ObjectId object = node.content()->object;
  const uint64_t last = (offset + length - 1) / kPageSize;
  const uint64_t first_after = std::max(offset, node.size + kPageSize - 1) / kPageSize;
  bool mapped = false;  // pages that were not the object's, below the end that the file had
  if (offset / kPageSize < first_after) {
    mapped = MapPages(change, node, offset / kPageSize, std::min(last, first_after - 1), object);
  }
  if (last >= first_after) MapPages(change, node, first_after, last, object);
  const bool in_place = recorded && !mapped && size == node.size;
  // After a crash the object would tell how long the file is.
  const bool grown =
      recorded && !mapped &&
      volume_.growing.IsMarked(nodes_.journal(), node.content_id, nodes_.open_layer());
  change.ObjectWritten(node.content()->open_object,
                       in_place ? Pages::kOverwritten : Pages::kMapped);
  Written(change, caller, node, size);
  if (in_place || grown) node.content()->needed_batch = needed;
}

void FileIo::Written(Journal::Change& change, const Caller& caller, ViewNode& node, uint64_t size) {
  nodes_.SetSize(node, size);
  if (caller.ClearsSetId()) ClearSetIdBits(caller, node);
  node.mtime = node.ctime = Now();
  nodes_.PutNode(change, node);
  RecordAttached(change, node);
}

// ---- chunks

void FileIo::StartChunks(ViewNode& node) {
  if (node.kind == ContentKind::kChunks) return;
  node.kind = ContentKind::kChunks;
  node.content_id = ContentId(volume_.contents.Take());
  node.NeedContent().only_first = true;
}

// Reads the first `size` bytes of the base's file into chunk 0. They are put into the journal by
// the change that follows.
Result<void> FileIo::CopyUpSmallLocked(ViewNode& node, uint64_t size) {
  Buffer bytes = Buffer::Allocate(size);
  AGENTFS_TRY(ReadFullyLocked(node, 0, {bytes.mutable_data(), size}));
  FileContent& content = node.NeedContent();
  content = FileContent();
  content.first.known = true;
  content.first.present = size > 0;
  content.first.bytes = std::move(bytes);
  StartChunks(node);
  node.stored = 0;
  return Ok();
}

// Everything that PutChunks needs is in memory afterwards.
Result<void> FileIo::PrepareChunksLocked(ViewNode& node, uint64_t offset, uint64_t length) {
  const uint64_t end = offset + length;
  if (node.kind == ContentKind::kBase) {
    if (node.size <= volume_.layout.inline_limit) {
      // What the write covers need not be read, unless it leaves something before or after it.
      const bool covers = offset == 0 && end >= node.size;
      if (covers) {
        node.kind = ContentKind::kNone;
        return Ok();
      }
      return CopyUpSmallLocked(node, node.size);
    }
    node.NeedContent().base_end = node.size;
    StartChunks(node);
  }
  if (node.kind == ContentKind::kNone) {
    FileContent& content = node.NeedContent();
    for (uint64_t i = offset / chunk_size(); i <= (end - 1) / chunk_size(); ++i) {
      content.chunk(i).known = true;
    }
    return Ok();
  }
  for (uint64_t i = offset / chunk_size(); i <= (end - 1) / chunk_size(); ++i) {
    AGENTFS_TRY(nodes_.LoadChunkLocked(node, i));
    FileContent& content = *node.content();
    Chunk& chunk = content.chunk(i);
    const uint64_t start = i * chunk_size();
    const bool covered = offset <= start && end >= std::min(start + chunk_size(), node.size);
    if (chunk.layer || chunk.present || start >= content.base_end || covered) continue;
    Buffer bytes = Buffer::Allocate(std::min<uint64_t>(chunk_size(), content.base_end - start));
    AGENTFS_TRY(ReadFullyLocked(node, start, {bytes.mutable_data(), bytes.size()}));
    node.content()->chunk(i).bytes = std::move(bytes);
    node.content()->chunk(i).present = true;
  }
  return Ok();
}

void FileIo::PutChunks(Journal::Change& change, ViewNode& node, uint64_t offset,
                       std::span<const char> data) {
  FileContent& content = *node.content();
  // A small file that was copied up whole: its first chunk has to be put even if it is not
  // written.
  if (content.first.present && !content.first.layer && offset >= chunk_size()) {
    PutChunk(change, node, 0, 0, {});
  }
  while (!data.empty()) {
    const uint32_t at = offset % chunk_size();
    const size_t length = std::min<size_t>(data.size(), chunk_size() - at);
    PutChunk(change, node, offset / chunk_size(), at, data.first(length));
    data = data.subspan(length);
    offset += length;
  }
}

void FileIo::PutChunk(Journal::Change& change, ViewNode& node, uint64_t index, uint32_t offset,
                      std::span<const char> data) {
  Chunk& chunk = node.content()->chunk(index);
  const size_t old_size = chunk.present ? chunk.bytes.size() : 0;
  const size_t size = std::max(old_size, offset + data.size());
  const bool ours = chunk.layer == nodes_.open_layer() && chunk.batch == change.batch() &&
                    chunk.slot != nullptr && chunk.present;
  Buffer bytes;
  if (ours && chunk.bytes.capacity() >= size) {
    bytes = chunk.bytes;
    bytes.SetSize(size);
  } else {
    bytes = Buffer::Allocate(size, ours ? RoomFor(size, chunk.bytes.capacity(), chunk_size()) : 0);
    if (old_size > 0) std::memcpy(bytes.mutable_data(), chunk.bytes.data(), old_size);
  }
  if (offset > old_size) std::memset(bytes.mutable_data() + old_size, 0, offset - old_size);
  if (!data.empty()) std::memcpy(bytes.mutable_data() + offset, data.data(), data.size());
  QueueChunk(change, node, index, std::move(bytes));
}

void FileIo::QueueChunk(Journal::Change& change, ViewNode& node, uint64_t index, Buffer bytes) {
  Chunk& chunk = node.content()->chunk(index);
  if (index != 0) node.content()->only_first = false;
  const LayerId open = nodes_.open_layer();
  const bool stored_before = static_cast<bool>(chunk.layer) && chunk.present;
  const int64_t old_size = stored_before ? static_cast<int64_t>(chunk.stored) : 0;
  const int64_t size = static_cast<int64_t>(bytes.size());
  const bool same_buffer = chunk.bytes.data() == bytes.data();
  nodes_.CountStored(size - (chunk.layer == open ? old_size : 0));
  node.stored = static_cast<uint64_t>(static_cast<int64_t>(node.stored) + size - old_size);
  if (!same_buffer && chunk.cached) {
    volume_.content_cache.Resized(static_cast<int64_t>(bytes.capacity()) -
                                  static_cast<int64_t>(chunk.bytes.capacity()));
  }
  chunk.stored = static_cast<uint32_t>(size);
  if (chunk.layer == open && chunk.batch == change.batch() && chunk.slot != nullptr) {
    if (!same_buffer || !chunk.present) {
      chunk.slot->kind = Mutation::Kind::kPut;
      chunk.slot->value = EncodeInt(1);
      chunk.slot->blob = bytes;
    }
  } else {
    chunk.slot =
        change.Put(tables::kData, ContentKey(node.content_id, index, open), EncodeInt(1), bytes);
  }
  chunk.bytes = std::move(bytes);
  chunk.present = true;
  chunk.known = true;
  chunk.layer = open;
  chunk.batch = change.batch();
  nodes_.ChunkLoaded(node, index);
}

void FileIo::PutHole(Journal::Change& change, ViewNode& node, uint64_t index) {
  Chunk& chunk = node.content()->chunk(index);
  if (index != 0) node.content()->only_first = false;
  const LayerId open = nodes_.open_layer();
  const int64_t old_size = chunk.layer && chunk.present ? static_cast<int64_t>(chunk.stored) : 0;
  if (chunk.layer == open) nodes_.CountStored(-old_size);
  node.stored = static_cast<uint64_t>(static_cast<int64_t>(node.stored) - old_size);
  if (chunk.cached) {
    volume_.content_cache.Resized(-static_cast<int64_t>(chunk.bytes.capacity()));
    chunk.cached = false;
  }
  change.Put(tables::kData, ContentKey(node.content_id, index, open), EncodeInt(0));
  chunk.bytes = Buffer();
  chunk.stored = 0;
  chunk.present = false;
  chunk.known = true;
  chunk.layer = open;
  chunk.batch = change.batch();
  chunk.slot = nullptr;  // the hole is a row of its own, after the one that the slot was
}

void FileIo::CutChunk(Journal::Change& change, ViewNode& node, uint64_t index, uint32_t length) {
  Chunk& chunk = node.content()->chunk(index);
  if (!chunk.present || chunk.bytes.size() <= length) return;
  QueueChunk(change, node, index, Buffer::Copy(chunk.bytes.view().substr(0, length)));
}

}  // namespace agentfs
