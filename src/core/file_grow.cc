// SPDX-License-Identifier: Apache-2.0
//
// Files that are synced while they grow (core/growing_files.h).
#include <algorithm>

#include "core/file_io.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr uint8_t kGrowthsOfLog =
    3;  // as many syncs that find it longer, and it is taken for a log

}  // namespace

Result<void> FileIo::TryPagesLocked(ViewNode& node, uint64_t offset, std::span<const char> data) {
  Result<void> written = WritePagesLocked(node, offset, data);
  if (written.ok()) return written;
  // A part of what the file has not become is in the object.
  Journal::Change change(nodes_.journal());
  volume_.growing.End(change, node.content_id);
  return written;
}

void FileIo::SyncedLocked(ViewNode& node, uint64_t batch) {
  FileContent* content = node.content();
  if (content == nullptr || node.batch > batch) return;
  if (content->needed_batch == FileContent::kUnknownBatch) content->needed_batch = batch;
  if (node.kind != ContentKind::kObject || node.size <= content->synced_size) return;
  content->synced_size = node.size;
  if (content->growths < kGrowthsOfLog) ++content->growths;
  // It is an offer: what cannot be marked is synced by its rows.
  if (content->growths == kGrowthsOfLog) (void)MarkLocked(node);
}

Result<void> FileIo::MarkLocked(ViewNode& node) {
  const FileContent& content = *node.content();
  const LayerId layer = nodes_.open_layer();
  const bool ours = content.open_object != nullptr && content.host_file == 0 &&
                    content.object_layer == layer && content.object_recorded;
  if (!ours || node.nlink == 0 || !volume_.store->capabilities().durable) return Ok();
  AGENTFS_ASSIGN(const bool owned, OwnsPageLocked(node, (node.size - 1) / kPageSize));
  if (!owned) return Ok();
  AGENTFS_ASSIGN(const BlobObject::End end, content.open_object->GetEnd());
  if (end.size < node.size) return Ok();
  // Its rows are on the disk: none of them maps what is past its end.
  if (end.size > node.size) AGENTFS_TRY(content.open_object->Cut(node.size));
  Journal::Change change(nodes_.journal());
  if (nodes_.open_layer() != layer) return Ok();
  volume_.growing.Begin(change, {node.content_id, layer, node.id(), content.object});
  // The object must end where it was cut before the mark says that this is the end.
  change.ObjectWritten(content.open_object, Pages::kMapped);
  return Ok();
}

// ---- after a crash

bool FileIo::IsSameLocked(const ViewNode& node, const GrowthMark& mark) const {
  const FileContent* content = node.content();
  return node.IsRegular() && node.nlink > 0 && node.kind == ContentKind::kObject &&
         node.layer == mark.layer && mark.layer == nodes_.open_layer() &&
         node.content_id == mark.content && content != nullptr && content->object == mark.object &&
         content->object_layer == mark.layer;
}

// Whoever wrote where the record ends would write over what was synced.
Result<void> FileIo::CheckEndLocked(const ViewNode& node) const {
  if (!volume_.growing.IsUnread(node.content_id, node.layer)) return Ok();
  return Error(EIO,
               "where the file ends is not known: the object that tells could not be read when the "
               "workspace was opened after a crash",
               "see to the disk and open the workspace again; or empty or remove the file");
}

// The object has all that was written since the record, each byte at its place, and zeros between.
Result<void> FileIo::RecoverLocked(ViewNode& node, const GrowthMark& mark) {
  if (!IsSameLocked(node, mark)) return Error(ESTALE);
  AGENTFS_TRY(NeedObjectLocked(node));
  FileContent& content = *node.content();
  AGENTFS_ASSIGN(const BlobObject::End end, content.open_object->GetEnd());
  if (end.size > kMaxObjectSize) return Error(EBADMSG);
  const bool grown = end.size > node.size;
  const uint64_t first = node.size / kPageSize,
                 last = (std::max<uint64_t>(end.size, 1) - 1) / kPageSize;
  if (grown) AGENTFS_TRY(LoadSpansLocked(node, first, last));
  Journal::Change change(nodes_.journal());
  change.Delete(tables::kGrowing, mark.Key().view());
  if (!grown) return Ok();
  MapPages(change, node, first, last, content.object);
  change.ObjectWritten(content.open_object, Pages::kMapped);
  nodes_.SetSize(node, end.size);
  node.mtime = std::max(node.mtime, end.modified);
  node.ctime = std::max(node.ctime, end.modified);
  nodes_.PutNode(change, node);
  return Ok();
}

}  // namespace agentfs
