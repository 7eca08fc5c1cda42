// SPDX-License-Identifier: Apache-2.0
#include "core/reaper.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "core/layer_rows.h"
#include "core/records.h"
#include "core/volume_state.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// What one batch removes, for which others may wait.
constexpr uint64_t kMostOrphans = 2048;
constexpr int64_t kMostBytes = 4 << 20;
// What a commit takes of the disk to remove one: some pages of the store.
constexpr uint64_t kDiskOfOrphan = 64 << 10;

}  // namespace

void Reaper::Add(Orphan orphan) {
  try {
    absl::MutexLock lock(&mu_);
    orphans_.push_back(orphan);
  } catch (const std::bad_alloc&) {
    return;  // its row stays in `orphans` until the volume is next opened
  }
  if (volume_.journal != nullptr) volume_.journal->Wake();
}

std::optional<Orphan> Reaper::Next() {
  absl::MutexLock lock(&mu_);
  if (orphans_.empty()) return std::nullopt;
  const Orphan orphan = orphans_.front();
  orphans_.pop_front();
  return orphan;
}

void Reaper::Sweep() {
  const uint64_t most = std::min(kMostOrphans, volume_.journal->commit_bytes() / kDiskOfOrphan);
  int64_t bytes = 0;
  for (uint64_t count = 0; count < most && bytes < kMostBytes; ++count) {
    const auto orphan = Next();
    if (!orphan) return;
    // What cannot be read now keeps its row in `orphans` and is tried when the volume is next
    // opened.
    if (const auto reaped = Reap(*orphan); reaped.ok()) bytes += *reaped;
  }
}

Result<void> Reaper::LoadLeftovers() {
  ScanRange range{tables::kOrphans, "", {}, {}, Order::kAscending, false};
  return volume_.store->Scan(range, [&](const RowView& row) {
    KeyReader in(row.key);
    const LayerId layer(in.Int());
    const NodeId node(in.Int());
    const ContentId content(in.Int());
    if (in.ok()) Add({layer, node, content});
    return Visit::kContinue;
  });
}

Result<int64_t> Reaper::Reap(const Orphan& orphan) {
  Store& store = *volume_.store;
  ContentId content = orphan.content;
  std::optional<Row> node_row;
  NodeRecord record;
  if (orphan.node) {
    AGENTFS_ASSIGN(node_row, store.Get(tables::kNodes, NodeKey(orphan.node, orphan.layer)));
    if (node_row) {
      if (!DecodeNode(node_row->value, &record)) return Error(EBADMSG);
      if (record.nlink > 0) node_row.reset();  // it has got a name again
      content = record.content;
    }
  }
  RowKeys data, spans, xattrs, entries;
  if (orphan.node && !node_row) content = ContentId();
  if (content) {
    const std::string prefix = KeyInt(content.value);
    AGENTFS_ASSIGN(data, RowsOfLayer(store, tables::kData, prefix, orphan.layer));
    AGENTFS_ASSIGN(spans, RowsOfLayer(store, tables::kSpans, prefix, orphan.layer));
  }
  if (node_row) {
    const std::string prefix = KeyInt(orphan.node.value);
    AGENTFS_ASSIGN(xattrs, RowsOfLayer(store, tables::kXattrs, prefix, orphan.layer));
    AGENTFS_ASSIGN(entries, RowsOfLayer(store, tables::kEntries, prefix, orphan.layer));
  }
  AGENTFS_ASSIGN(auto objects, ObjectsOf(store, content, orphan.layer));
  AGENTFS_ASSIGN(const int64_t mapped, MappedBytes(store, spans.keys, objects));

  Journal::Change change(*volume_.journal, ChangeOf::kVolume);
  for (auto& key : data.keys) change.Delete(tables::kData, std::move(key));
  for (auto& key : spans.keys) change.Delete(tables::kSpans, std::move(key));
  for (auto& key : xattrs.keys) change.Delete(tables::kXattrs, std::move(key));
  for (auto& key : entries.keys) change.Delete(tables::kEntries, std::move(key));
  for (ObjectId object : objects) {
    change.Delete(tables::kObjects, ObjectKey(content, orphan.layer, object));
    change.AfterSync([this, object] { (void)volume_.blobs->Remove(object); });
  }
  if (node_row) {
    if (record.born == orphan.layer) {
      change.Delete(tables::kNodes, NodeKey(orphan.node, orphan.layer));
      volume_.node_records.fetch_sub(1);
    } else {
      NodeRecord tombstone;
      tombstone.mode = record.mode;
      tombstone.born = record.born;
      change.Put(tables::kNodes, NodeKey(orphan.node, orphan.layer), EncodeNode(tombstone));
    }
  }
  change.Delete(tables::kOrphans, OrphanKey(orphan.layer, orphan.node, orphan.content));
  volume_.CountStored(orphan.layer, -(data.bytes + mapped));
  return data.bytes;
}

}  // namespace agentfs
