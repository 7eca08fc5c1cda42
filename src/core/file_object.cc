// SPDX-License-Identifier: Apache-2.0
//
// Large files: pages in objects.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/file_io.h"
#include "store/schema.h"

namespace agentfs {
namespace {

uint64_t PageOf(uint64_t offset) { return offset / kPageSize; }
uint64_t StartOfPage(uint64_t page) { return page * kPageSize; }

// The object that has the page, or nullopt if no run covers it.
std::optional<ObjectId> ObjectAt(const Span& span, uint32_t page) {
  for (const Run& run : span.runs) {
    if (page >= run.start && page < run.start + run.count) return run.object;
  }
  return std::nullopt;
}

void AddRun(Runs* runs, uint32_t first, uint32_t last, ObjectId object) {
  if (!runs->empty()) {
    Run& back = runs->back();
    if (back.object == object && back.start + back.count == first) {
      back.count = static_cast<uint16_t>(last + 1 - back.start);
      return;
    }
  }
  runs->push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(last + 1 - first), object});
}

// `runs` with pages [first, last] mapped to `object`, or to nothing.
Runs Remapped(const Runs& runs, uint32_t first, uint32_t last, std::optional<ObjectId> object) {
  Runs result;
  bool placed = false;
  auto place = [&] {
    if (!placed && object) AddRun(&result, first, last, *object);
    placed = true;
  };
  for (const Run& run : runs) {
    const uint32_t run_last = run.start + run.count - 1;
    if (run.start < first) AddRun(&result, run.start, std::min(run_last, first - 1), run.object);
    if (run_last >= first) place();
    if (run_last > last) {
      AddRun(&result, std::max<uint32_t>(run.start, last + 1), run_last, run.object);
    }
  }
  place();
  return result;
}

}  // namespace

Result<void> FileIo::NeedObjectLocked(ViewNode& node) {
  FileContent& content = node.NeedContent();
  const LayerId open = nodes_.open_layer();
  if (content.object && content.object_layer == open) {
    if (content.open_object == nullptr) {
      AGENTFS_ASSIGN(content.open_object, volume_.blobs->Open(content.object));
    }
    return Ok();
  }
  // A crash may have left an object before anything referred to it; gc removes such ones.
  ObjectId id(volume_.objects.Take());
  Result<std::shared_ptr<BlobObject>> object = volume_.blobs->Create(id);
  while (object.code() == EEXIST) {
    id = ObjectId(volume_.objects.Take());
    object = volume_.blobs->Create(id);
  }
  AGENTFS_TRY(object);
  content.object = id;
  content.object_layer = open;
  content.object_recorded = false;
  content.open_object = std::move(*object);
  return Ok();
}

Result<void> FileIo::LoadSpansLocked(ViewNode& node, uint64_t first_page, uint64_t last_page) {
  for (uint64_t i = first_page / kPagesPerSpan; i <= last_page / kPagesPerSpan; ++i) {
    AGENTFS_TRY(nodes_.LoadSpanLocked(node, i));
  }
  return Ok();
}

Result<bool> FileIo::OwnsPageLocked(ViewNode& node, uint64_t page) {
  if (node.kind != ContentKind::kObject) return false;
  const FileContent& content = *node.content();
  if (content.object_layer != nodes_.open_layer()) return false;
  AGENTFS_ASSIGN(Span * span, nodes_.LoadSpanLocked(node, page / kPagesPerSpan));
  return ObjectAt(*span, page % kPagesPerSpan) == content.object;
}

// A page that is written in part: what is not written is taken from where it is now.
Result<void> FileIo::WriteEdgeLocked(ViewNode& node, uint64_t page, uint64_t offset,
                                     std::span<const char> data) {
  BlobObject& object = *node.content()->open_object;
  AGENTFS_ASSIGN(const bool owned, OwnsPageLocked(node, page));
  if (owned) return object.Write(offset, data);
  std::array<char, kPageSize> whole;
  AGENTFS_TRY(ReadFullyLocked(node, StartOfPage(page), whole));
  std::memcpy(whole.data() + (offset - StartOfPage(page)), data.data(), data.size());
  // Not past the end of the file: that of the object may have to tell it.
  const uint64_t end = std::max(node.size, offset + data.size());
  const uint64_t length = std::min<uint64_t>(kPageSize, end - StartOfPage(page));
  return object.Write(StartOfPage(page), std::span(whole).first(length));
}

Result<void> FileIo::ZeroTailLocked(ViewNode& node, uint64_t end) {
  const uint64_t page = PageOf(node.size);
  if (node.kind != ContentKind::kObject || node.size % kPageSize == 0) return Ok();
  static constexpr std::array<char, kPageSize> kZeros{};
  const uint64_t length = std::min(end, StartOfPage(page + 1)) - node.size;
  while (true) {
    AGENTFS_ASSIGN(Span * span, nodes_.LoadSpanLocked(node, page / kPagesPerSpan));
    const std::optional<ObjectId> object = ObjectAt(*span, page % kPagesPerSpan);
    if (!object || !*object) return Ok();  // a hole, or the base's, which ends where the file does
    AGENTFS_TRY(NeedObjectLocked(node));
    AGENTFS_TRY(WriteEdgeLocked(node, page, node.size, std::span(kZeros).first(length)));
    Journal::Change change(nodes_.journal());
    if (node.content()->object_layer != nodes_.open_layer()) continue;
    RecordObject(change, node);
    MapPages(change, node, page, page, node.content()->object);
    change.ObjectWritten(node.content()->open_object, Pages::kMapped);
    nodes_.PutNode(change, node);
    return Ok();
  }
}

// What is in chunks goes to the object: the file has outgrown them.
Result<void> FileIo::CopyChunksToObjectLocked(ViewNode& node, std::vector<uint64_t>* pages) {
  AGENTFS_ASSIGN(auto rows, nodes_.RowsFromLocked(node, tables::kData, 0));
  for (uint64_t index : rows) {
    AGENTFS_TRY(nodes_.LoadChunkLocked(node, index));
    const Chunk& chunk = node.content()->chunk(index);
    if (!chunk.present || chunk.bytes.size() == 0) continue;
    const uint64_t start = index * chunk_size();
    AGENTFS_TRY(node.content()->open_object->Write(
        start, std::span(chunk.bytes.data(), chunk.bytes.size())));
    for (uint64_t p = PageOf(start); p <= PageOf(start + chunk.bytes.size() - 1); ++p) {
      pages->push_back(p);
    }
  }
  return Ok();
}

Result<void> FileIo::ToSpansLocked(ViewNode& node) {
  while (node.kind != ContentKind::kObject) {
    AGENTFS_TRY(NeedObjectLocked(node));
    std::vector<uint64_t> pages;
    if (node.kind == ContentKind::kChunks) AGENTFS_TRY(CopyChunksToObjectLocked(node, &pages));
    Journal::Change change(nodes_.journal());
    FileContent fresh;
    fresh.object = node.content()->object;
    fresh.object_layer = node.content()->object_layer;
    fresh.object_recorded = node.content()->object_recorded;
    fresh.open_object = node.content()->open_object;
    if (fresh.object_layer != nodes_.open_layer()) continue;
    fresh.base_end = node.kind == ContentKind::kBase ? node.size : node.content()->base_end;
    nodes_.DropContent(change, node);
    node.NeedContent() = std::move(fresh);
    node.kind = ContentKind::kObject;
    node.content_id = ContentId(volume_.contents.Take());
    RecordObject(change, node);
    for (uint64_t page : pages) MapPages(change, node, page, page, node.content()->object);
    change.ObjectWritten(node.content()->open_object, Pages::kMapped);
    nodes_.PutNode(change, node);
  }
  return Ok();
}

Result<void> FileIo::WritePagesLocked(ViewNode& node, uint64_t offset, std::span<const char> data) {
  const uint64_t end = offset + data.size();
  AGENTFS_TRY(ToSpansLocked(node));
  if (offset > node.size) AGENTFS_TRY(ZeroTailLocked(node, offset));
  AGENTFS_TRY(NeedObjectLocked(node));
  AGENTFS_TRY(LoadSpansLocked(node, PageOf(offset), PageOf(end - 1)));
  BlobObject& object = *node.content()->open_object;
  const uint64_t head = offset % kPageSize;
  if (head != 0) {
    const size_t length = std::min<size_t>(data.size(), kPageSize - head);
    AGENTFS_TRY(WriteEdgeLocked(node, PageOf(offset), offset, data.first(length)));
    data = data.subspan(length);
    offset += length;
  }
  const size_t tail = end < node.size ? data.size() % kPageSize : 0;
  if (data.size() > tail) AGENTFS_TRY(object.Write(offset, data.first(data.size() - tail)));
  if (tail > 0) {
    const uint64_t at = end - tail;
    AGENTFS_TRY(WriteEdgeLocked(node, PageOf(at), at, data.last(tail)));
  }
  return Ok();
}

// ---- mapping

void FileIo::RecordObject(Journal::Change& change, ViewNode& node) {
  FileContent& content = *node.content();
  if (content.object_recorded) return;
  change.Put(tables::kObjects, ObjectKey(node.content_id, content.object_layer, content.object),
             "");
  content.object_recorded = true;
}

bool FileIo::MapPages(Journal::Change& change, ViewNode& node, uint64_t first, uint64_t last,
                      ObjectId object) {
  bool any_new = false;
  while (first <= last) {
    const uint64_t index = first / kPagesPerSpan;
    const uint64_t end = std::min(last, (index + 1) * kPagesPerSpan - 1);
    any_new |= MapInSpan(change, node, index, first % kPagesPerSpan, end % kPagesPerSpan, object);
    first = end + 1;
  }
  return any_new;
}

bool FileIo::MapInSpan(Journal::Change& change, ViewNode& node, uint64_t index, uint32_t first,
                       uint32_t last, ObjectId object) {
  FileContent& content = *node.content();
  Span& span = content.spans[index];
  int64_t in_objects = 0, owned = 0;
  auto count = [&](int64_t sign) {
    for (const Run& run : span.runs) {
      if (run.object) in_objects += sign * run.count;
      if (run.object && run.object == content.object &&
          content.object_layer == nodes_.open_layer()) {
        owned += sign * run.count;
      }
    }
  };
  count(-1);
  // A hole needs a run of its own only where the base would show through.
  const bool over_base = (index * kPagesPerSpan + first) * kPageSize < content.base_end;
  std::optional<ObjectId> target = object;
  if (!object && !over_base) target = std::nullopt;
  Runs mapped = Remapped(span.runs, first, last, target);
  if (mapped == span.runs && span.layer == nodes_.open_layer()) return false;
  span.runs = std::move(mapped);
  count(+1);
  node.stored = static_cast<uint64_t>(static_cast<int64_t>(node.stored) + in_objects * kPageSize);
  nodes_.CountStored(owned * kPageSize);
  PutSpan(change, node, index);
  return owned > 0;
}

void FileIo::PutSpan(Journal::Change& change, ViewNode& node, uint64_t index) {
  Span& span = node.content()->spans[index];
  const LayerId open = nodes_.open_layer();
  if (span.layer == open && span.batch == change.batch() && span.slot != nullptr) {
    span.slot->blob = EncodeRuns(span.runs);
    return;
  }
  span.slot = change.Put(tables::kSpans, ContentKey(node.content_id, index, open), "",
                         EncodeRuns(span.runs));
  span.layer = open;
  span.batch = change.batch();
}

// Frees the object's space past the end of the file. On the committer's thread, when the new size
// is on the disk; if the node is busy, the space goes with the object. If the file was made shorter
// again, rows that are on the disk may still map what is past its end now. A restore meanwhile has
// left nothing of the content.
void FileIo::ReclaimTail(ViewNode& node, uint64_t batch) {
  if (!node.mu.TryLock()) return;
  FileContent* content = node.content();
  // What is past the end may have been written by somebody else who has not told yet.
  if (content != nullptr && node.kind == ContentKind::kObject && content->open_object != nullptr &&
      content->host_file == 0 && content->cut_batch == batch &&
      content->object_layer == nodes_.open_layer()) {
    const uint64_t end = (node.size + kPageSize - 1) / kPageSize * kPageSize;
    (void)content->open_object->Punch(end, kMaxFileSize - end);
  }
  node.mu.Unlock();
}

}  // namespace agentfs
