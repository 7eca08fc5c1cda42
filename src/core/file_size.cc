// SPDX-License-Identifier: Apache-2.0
//
// Sizes and holes.
#include <algorithm>
#include <array>
#include <vector>

#include "base/clock.h"
#include "core/attached_note.h"
#include "core/file_io.h"
#include "core/permissions.h"
#include "store/schema.h"

namespace agentfs {

void FileIo::Finish(Journal::Change& change, ViewNode& node, uint64_t size,
                    const std::function<void()>& with) {
  nodes_.SetSize(node, size);
  with();
  nodes_.PutNode(change, node);
  RecordAttached(change, node);
}

Result<void> FileIo::DetachLocked(ViewNode& node) {
  if (node.kind != ContentKind::kBase) return Ok();
  if (UsesObjects(node.size)) return ToSpansLocked(node);
  if (node.size <= volume_.layout.inline_limit) {
    AGENTFS_TRY(CopyUpSmallLocked(node, node.size));
    Journal::Change change(nodes_.journal());
    Buffer bytes = node.content()->first.bytes;
    if (bytes.size() > 0) QueueChunk(change, node, 0, std::move(bytes));
    nodes_.PutNode(change, node);
    return Ok();
  }
  Journal::Change change(nodes_.journal());
  node.NeedContent().base_end = node.size;
  StartChunks(node);
  nodes_.PutNode(change, node);
  return Ok();
}

Result<void> FileIo::SetSizeLocked(ViewNode& node, uint64_t size,
                                   const std::function<void()>& with) {
  AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
  AGENTFS_TRY(nodes_.RefreshBaseLocked(node));
  if (size > node.size) AGENTFS_TRY(CheckGrowth(node, size, 0));
  if (size == 0 && node.size != 0) {
    Journal::Change change(nodes_.journal());
    nodes_.DropContent(change, node);
    Finish(change, node, 0, with);
    return Ok();
  }
  AGENTFS_TRY(CheckEndLocked(node));
  if (size != node.size) AGENTFS_TRY(DetachLocked(node));
  if (size < node.size) return ShrinkLocked(node, size, with);
  if (size > node.size) AGENTFS_TRY(ZeroTailLocked(node, size));
  Journal::Change change(nodes_.journal());
  Finish(change, node, size, with);
  return Ok();
}

Result<void> FileIo::ShrinkLocked(ViewNode& node, uint64_t size,
                                  const std::function<void()>& with) {
  if (node.kind == ContentKind::kChunks) return ShrinkChunksLocked(node, size, with);
  if (node.kind == ContentKind::kObject) return ShrinkSpansLocked(node, size, with);
  Journal::Change change(nodes_.journal());
  Finish(change, node, size, with);
  return Ok();
}

Result<void> FileIo::ShrinkChunksLocked(ViewNode& node, uint64_t size,
                                        const std::function<void()>& with) {
  const uint64_t last = (size - 1) / chunk_size();
  std::vector<uint64_t> gone;
  if (node.size > (last + 1) * chunk_size()) {
    AGENTFS_ASSIGN(gone, nodes_.RowsFromLocked(node, tables::kData, last + 1));
  }
  for (uint64_t index : gone) AGENTFS_TRY(nodes_.LoadChunkLocked(node, index));
  AGENTFS_TRY(nodes_.LoadChunkLocked(node, last));
  Journal::Change change(nodes_.journal());
  for (uint64_t index : gone) PutHole(change, node, index);
  CutChunk(change, node, last, static_cast<uint32_t>(size - last * chunk_size()));
  FileContent& content = node.NeedContent();
  content.base_end = std::min(content.base_end, size);
  Finish(change, node, size, with);
  return Ok();
}

Result<void> FileIo::ShrinkSpansLocked(ViewNode& node, uint64_t size,
                                       const std::function<void()>& with) {
  const uint64_t first_gone = (size + kPageSize - 1) / kPageSize;
  const uint64_t span = first_gone / kPagesPerSpan;
  AGENTFS_ASSIGN(auto rows, nodes_.RowsFromLocked(node, tables::kSpans, span));
  for (uint64_t index : rows) AGENTFS_TRY(nodes_.LoadSpanLocked(node, index));
  Journal::Change change(nodes_.journal());
  volume_.growing.End(change, node.content_id);
  FileContent& content = *node.content();
  content.base_end = std::min(content.base_end, size);
  content.synced_size = std::min(content.synced_size, size);
  for (uint64_t index : rows) {
    const uint32_t from = index == span ? first_gone % kPagesPerSpan : 0;
    if (content.spans[index].runs.empty()) continue;
    MapInSpan(change, node, index, from, kPagesPerSpan - 1, ObjectId());
  }
  Finish(change, node, size, with);
  if (content.open_object != nullptr) {
    const uint64_t batch = content.cut_batch = change.batch();
    change.AfterSync([this, ref = NodeRef(&node), batch] { ReclaimTail(AsViewNode(*ref), batch); });
  }
  return Ok();
}

// ---- holes

Result<void> FileIo::PunchChunksLocked(const Caller& caller, ViewNode& node, uint64_t offset,
                                       uint64_t end) {
  AGENTFS_ASSIGN(auto rows, nodes_.RowsFromLocked(node, tables::kData, offset / chunk_size()));
  // The base's part has no rows: each chunk of it needs one that says "hole".
  const uint64_t base_end = std::min(end, node.NeedContent().base_end);
  for (uint64_t i = offset / chunk_size(); i * chunk_size() < base_end; ++i) rows.push_back(i);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  while (!rows.empty() && rows.back() > (end - 1) / chunk_size()) rows.pop_back();
  auto part = [&](uint64_t index) {
    const uint64_t start = index * chunk_size();
    return std::pair(std::max(offset, start), std::min(end, start + chunk_size()));
  };
  for (uint64_t index : rows) {
    const auto [from, to] = part(index);
    AGENTFS_TRY(PrepareChunksLocked(node, from, to - from));
  }
  const std::vector<char> zeros(std::min<uint64_t>(chunk_size(), end - offset));
  Journal::Change change(nodes_.journal());
  for (uint64_t index : rows) {
    const auto [from, to] = part(index);
    const uint64_t start = index * chunk_size();
    const Chunk& chunk = node.content()->chunk(index);
    const uint64_t filled = start + (chunk.present ? chunk.bytes.size() : 0);
    if (from == start && to >= std::min(start + chunk_size(), std::max(filled, node.size))) {
      PutHole(change, node, index);
    } else if (from < filled) {
      PutChunk(change, node, index, static_cast<uint32_t>(from - start),
               std::span(zeros).first(std::min(to, filled) - from));
    }
  }
  Written(change, caller, node, node.size);
  return Ok();
}

Result<void> FileIo::PunchPagesLocked(const Caller& caller, ViewNode& node, uint64_t offset,
                                      uint64_t end) {
  static constexpr std::array<char, kPageSize> kZeros{};
  uint64_t first = (offset + kPageSize - 1) / kPageSize, last = end / kPageSize;  // whole pages
  if (end == node.size) last = (end + kPageSize - 1) / kPageSize;
  auto zero = [&](uint64_t from, uint64_t to) -> Result<void> {
    if (from >= to) return Ok();
    AGENTFS_TRY(WriteLocked(caller, node, from, std::span(kZeros).first(to - from)));
    return Ok();
  };
  if (first > last) return zero(offset, end);
  AGENTFS_TRY(zero(offset, std::min(end, first * kPageSize)));
  AGENTFS_TRY(zero(std::max(offset, last * kPageSize), end));
  std::vector<uint64_t> rows;
  if (first < last) {
    AGENTFS_ASSIGN(rows, nodes_.RowsFromLocked(node, tables::kSpans, first / kPagesPerSpan));
    const uint64_t base_end = std::min(last * kPageSize, node.content()->base_end);
    for (uint64_t i = first / kPagesPerSpan; i * kSpanSize < base_end; ++i) rows.push_back(i);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    while (!rows.empty() && rows.back() > (last - 1) / kPagesPerSpan) rows.pop_back();
  }
  for (uint64_t index : rows) AGENTFS_TRY(nodes_.LoadSpanLocked(node, index));
  Journal::Change change(nodes_.journal());
  volume_.growing.End(change, node.content_id);
  for (uint64_t index : rows) {
    const uint64_t start = index * kPagesPerSpan;
    const uint64_t from = std::max(first, start);
    const uint64_t to = std::min(last, start + kPagesPerSpan) - 1;
    MapInSpan(change, node, index, static_cast<uint32_t>(from - start),
              static_cast<uint32_t>(to - start), ObjectId());
  }
  Written(change, caller, node, node.size);
  return Ok();
}

Result<void> FileIo::PunchLocked(const Caller& caller, ViewNode& node, uint64_t offset,
                                 uint64_t end) {
  end = std::min(end, node.size);
  if (offset >= end) {
    Journal::Change change(nodes_.journal());
    Written(change, caller, node, node.size);
    return Ok();
  }
  AGENTFS_TRY(DetachLocked(node));
  if (node.kind == ContentKind::kChunks) return PunchChunksLocked(caller, node, offset, end);
  if (node.kind == ContentKind::kObject) return PunchPagesLocked(caller, node, offset, end);
  Journal::Change change(nodes_.journal());
  Written(change, caller, node, node.size);
  return Ok();
}

Result<void> FileIo::AllocateLocked(const Caller& caller, ViewNode& node, AllocateMode mode,
                                    uint64_t offset, uint64_t length) {
  if (length == 0 || offset > kMaxFileSize) return Error(EINVAL);
  if (length > kMaxFileSize - offset) return Error(EFBIG);
  const uint64_t end = offset + length;
  AGENTFS_TRY(CheckEndLocked(node));
  AGENTFS_TRY(nodes_.PrepareRecordLocked(node));
  AGENTFS_TRY(nodes_.RefreshBaseLocked(node));
  const bool keeps_size = mode == AllocateMode::kKeepSize || mode == AllocateMode::kPunchHole ||
                          mode == AllocateMode::kZeroRangeKeepSize;
  const bool zeroes = mode != AllocateMode::kAllocate && mode != AllocateMode::kKeepSize;
  if (!keeps_size) AGENTFS_TRY(CheckGrowth(node, end, end > node.size ? end - node.size : 0));
  if (zeroes) AGENTFS_TRY(PunchLocked(caller, node, offset, end));
  const auto touch = [&] {
    if (caller.ClearsSetId()) ClearSetIdBits(caller, node);
    node.mtime = node.ctime = Now();
  };
  if (!keeps_size && end > node.size) return SetSizeLocked(node, end, touch);
  Journal::Change change(nodes_.journal());
  Written(change, caller, node, node.size);
  return Ok();
}

// ---- seeking

// The first data that the base has between `from` and `to`.
Result<std::optional<FileIo::Extent>> FileIo::NextBaseDataLocked(ViewNode& node, uint64_t from,
                                                                 uint64_t to) {
  if (from >= to) return std::optional<Extent>();
  const BaseSource base = BaseOfLocked(node);
  AGENTFS_ASSIGN(auto file, volume_.base_files.Open(base.path, base.identity));
  Result<uint64_t> data = file->Seek(from, SeekTarget::kData);
  if (!data.ok() && data.code() != ENXIO) return data.error();
  if (!data.ok() || *data >= to) return std::optional<Extent>();
  AGENTFS_ASSIGN(uint64_t hole, file->Seek(*data, SeekTarget::kHole));
  return Extent(*data, std::min(hole, to));
}

Result<std::optional<FileIo::Extent>> FileIo::NextChunkLocked(ViewNode& node, uint64_t offset) {
  const uint64_t base_end = node.content() ? node.content()->base_end : 0;
  AGENTFS_ASSIGN(auto rows, nodes_.RowsFromLocked(node, tables::kData, offset / chunk_size()));
  for (uint64_t index : rows) {
    const uint64_t start = index * chunk_size();
    if (offset < start && offset < base_end) {
      AGENTFS_ASSIGN(auto data, NextBaseDataLocked(node, offset, std::min(start, base_end)));
      if (data) return data;
      offset = start;
    }
    AGENTFS_TRY(nodes_.LoadChunkLocked(node, index));
    const uint64_t end = std::min(start + chunk_size(), node.size);
    if (node.content()->chunk(index).present && end > offset) return Extent(start, end);
    if (start <= offset) offset = std::max(offset, end);
  }
  if (offset >= base_end) return std::optional<Extent>();
  return NextBaseDataLocked(node, offset, base_end);
}

Result<std::optional<FileIo::Extent>> FileIo::NextRunLocked(ViewNode& node, uint64_t offset) {
  const uint64_t base_end = node.content() ? node.content()->base_end : 0;
  AGENTFS_ASSIGN(auto rows, nodes_.RowsFromLocked(node, tables::kSpans, offset / kSpanSize));
  for (uint64_t index : rows) {
    const uint64_t start = index * kSpanSize;
    AGENTFS_ASSIGN(Span * span, nodes_.LoadSpanLocked(node, index));
    for (const Run& run : span->runs) {
      const uint64_t from = start + uint64_t{run.start} * kPageSize;
      const uint64_t to = std::min(from + uint64_t{run.count} * kPageSize, node.size);
      if (to <= offset) continue;
      if (offset < from && offset < base_end) {
        AGENTFS_ASSIGN(auto data, NextBaseDataLocked(node, offset, std::min(from, base_end)));
        if (data) return data;
      }
      if (run.object) return Extent(from, to);
      offset = to;
    }
  }
  if (offset >= base_end) return std::optional<Extent>();
  return NextBaseDataLocked(node, offset, base_end);
}

Result<std::optional<FileIo::Extent>> FileIo::NextDataLocked(ViewNode& node, uint64_t offset) {
  if (node.kind == ContentKind::kChunks) return NextChunkLocked(node, offset);
  if (node.kind == ContentKind::kObject) return NextRunLocked(node, offset);
  return std::optional<Extent>();
}

Result<uint64_t> FileIo::SeekLocked(ViewNode& node, uint64_t offset, SeekTarget target) {
  if (node.kind == ContentKind::kBase) {
    const BaseSource base = BaseOfLocked(node);
    AGENTFS_ASSIGN(auto file, volume_.base_files.Open(base.path, base.identity));
    return file->Seek(offset, target);
  }
  AGENTFS_TRY(CheckEndLocked(node));
  if (offset >= node.size) return Error(ENXIO);
  while (offset < node.size) {
    AGENTFS_ASSIGN(auto data, NextDataLocked(node, offset));
    if (target == SeekTarget::kData) {
      if (!data) return Error(ENXIO);
      return std::max(offset, data->first);
    }
    if (!data || data->first > offset) return offset;
    offset = data->second;
  }
  return node.size;
}

}  // namespace agentfs
