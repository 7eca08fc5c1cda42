// SPDX-License-Identifier: Apache-2.0
#include "core/reaper.h"

#include <algorithm>
#include <utility>

#include "core/records.h"
#include "core/volume_state.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {

void Reaper::Add(Orphan orphan) {
  absl::MutexLock lock(&mu_);
  orphans_.push_back(orphan);
}

void Reaper::Sweep() {
  std::vector<Orphan> orphans;
  {
    absl::MutexLock lock(&mu_);
    orphans.swap(orphans_);
  }
  for (const Orphan& orphan : orphans) {
    // What cannot be read now keeps its row in `orphans` and is tried when the volume is next
    // opened.
    (void)Reap(orphan);
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

namespace {

// The keys of the rows below `prefix` that are of this layer, and the bytes they hold.
struct LayerRows {
  std::vector<std::string> keys;
  int64_t bytes = 0;
};

Result<LayerRows> RowsOfLayer(Store& store, TableId table, std::string_view prefix,
                              LayerId layer) {
  LayerRows rows;
  AGENTFS_TRY(store.Scan(ScanRange{table, prefix, {}, {}, Order::kAscending, false},
                         [&](const RowView& row) {
                           if (row.key.ends_with(KeyInt(layer.value))) {
                             rows.keys.emplace_back(row.key);
                             rows.bytes += static_cast<int64_t>(row.blob.size());
                           }
                           return Visit::kContinue;
                         }));
  return rows;
}

Result<std::vector<ObjectId>> ObjectsOf(Store& store, ContentId content, LayerId layer) {
  std::vector<ObjectId> objects;
  if (!content) return objects;
  const std::string prefix = KeyWriter().Int(content.value).Int(layer.value).Take();
  AGENTFS_TRY(store.Scan(ScanRange{tables::kObjects, prefix, {}, {}, Order::kAscending, false},
                         [&](const RowView& row) {
                           if (auto key = ParseObjectKey(row.key)) objects.push_back(key->object);
                           return Visit::kContinue;
                         }));
  return objects;
}

}  // namespace

Result<void> Reaper::Reap(const Orphan& orphan) {
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
  LayerRows data, spans, xattrs, entries;
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
  for (const std::string& key : spans.keys) {
    AGENTFS_ASSIGN(auto row, store.Get(tables::kSpans, key));
    Runs runs;
    if (row && DecodeRuns(row->blob.view(), &runs)) {
      for (const Run& run : runs) {
        if (std::count(objects.begin(), objects.end(), run.object) > 0) data.bytes += int64_t{run.count} * kPageSize;
      }
    }
  }

  Journal::Change change(*volume_.journal);
  for (auto& key : data.keys) change.Delete(tables::kData, std::move(key));
  for (auto& key : spans.keys) change.Delete(tables::kSpans, std::move(key));
  for (auto& key : xattrs.keys) change.Delete(tables::kXattrs, std::move(key));
  for (auto& key : entries.keys) change.Delete(tables::kEntries, std::move(key));
  for (ObjectId object : objects) {
    change.Delete(tables::kObjects, ObjectKey(content, orphan.layer, object));
    change.AfterCommit([this, object] { (void)volume_.blobs->Remove(object); });
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
  volume_.CountStored(orphan.layer, -data.bytes);
  return Ok();
}

}  // namespace agentfs
