// SPDX-License-Identifier: Apache-2.0
#include "core/gc.h"

#include <algorithm>
#include <utility>

#include "core/layer_rows.h"
#include "core/volume_impl.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr size_t kPiece = 2000;  // mutations appended under one Change

// The same versioned key in another layer.
std::string InLayer(std::string_view key, LayerId layer) {
  return std::string(key.substr(0, key.size() - 8)) + KeyInt(layer.value);
}

}  // namespace

void GarbageCollector::Delete(Work* work, TableId table, std::string key) {
  work->mutations.push_back({table, Mutation::Kind::kDelete, std::move(key), {}, {}});
}

void GarbageCollector::Put(Work* work, TableId table, std::string key, std::string value,
                           Buffer blob) {
  work->mutations.push_back(
      {table, Mutation::Kind::kPut, std::move(key), std::move(value), std::move(blob)});
}

Result<void> GarbageCollector::Append(Work work) {
  for (size_t i = 0; i < work.mutations.size(); i += kPiece) {
    AGENTFS_TRY(volume_.journal->Admit(Growth::kFrees));
    Journal::Change change(*volume_.journal);
    for (size_t j = i; j < std::min(i + kPiece, work.mutations.size()); ++j) {
      Mutation& m = work.mutations[j];
      if (m.kind == Mutation::Kind::kPut) {
        change.Put(m.table, std::move(m.key), std::move(m.value), std::move(m.blob));
      } else {
        change.Delete(m.table, std::move(m.key));
        ++report_.rows_removed;
      }
    }
  }
  Journal::Change change(*volume_.journal);
  for (ObjectId object : work.dropped_objects) {
    ++report_.objects_removed;
    change.AfterSync(
        [this_volume = &volume_, object] { (void)this_volume->blobs->Remove(object); });
  }
  report_.bytes_reclaimed += static_cast<uint64_t>(work.dropped_bytes);
  return Ok();
}

// ---- layers that nobody can reach

Result<void> GarbageCollector::DropContent(Work* work, ContentId content, LayerId layer) {
  if (!content) return Ok();
  const std::string prefix = KeyInt(content.value);
  AGENTFS_ASSIGN(RowKeys data, RowsOfLayer(*volume_.store, tables::kData, prefix, layer));
  AGENTFS_ASSIGN(RowKeys spans, RowsOfLayer(*volume_.store, tables::kSpans, prefix, layer));
  AGENTFS_ASSIGN(auto objects, ObjectsOf(*volume_.store, content, layer));
  AGENTFS_ASSIGN(const int64_t mapped, MappedBytes(*volume_.store, spans.keys, objects));
  for (auto& key : data.keys) Delete(work, tables::kData, std::move(key));
  for (auto& key : spans.keys) Delete(work, tables::kSpans, std::move(key));
  for (ObjectId object : objects) {
    Delete(work, tables::kObjects, ObjectKey(content, layer, object));
    work->dropped_objects.push_back(object);
  }
  work->dropped_bytes += data.bytes + mapped;
  return Ok();
}

Result<void> GarbageCollector::DropXattrs(Work* work, NodeId node, LayerId layer) {
  AGENTFS_ASSIGN(RowKeys rows,
                 RowsOfLayer(*volume_.store, tables::kXattrs, KeyInt(node.value), layer));
  for (auto& key : rows.keys) Delete(work, tables::kXattrs, std::move(key));
  return Ok();
}

Result<void> GarbageCollector::DropOrphans(Work* work, LayerId layer) {
  std::vector<std::string> keys;
  const std::string prefix = KeyInt(layer.value);
  AGENTFS_TRY(
      volume_.store->Scan(ScanRange{tables::kOrphans, prefix, {}, {}, Order::kAscending, false},
                          [&](const RowView& row) {
                            keys.emplace_back(row.key);
                            return Visit::kContinue;
                          }));
  for (std::string& key : keys) {
    KeyReader in(key);
    in.Int();
    const NodeId node(in.Int());
    const ContentId content(in.Int());
    if (!node) AGENTFS_TRY(DropContent(work, content, layer));
    Delete(work, tables::kOrphans, std::move(key));
  }
  return Ok();
}

Result<void> GarbageCollector::RemoveLayer(Layer* layer) {
  Work work;
  AGENTFS_ASSIGN(auto nodes, IndexedRowsOfLayer(*volume_.store, tables::kNodes, layer->id));
  for (Row& row : nodes) {
    NodeRecord record;
    const auto key = ParseNodeKey(row.key);
    if (key && DecodeNode(row.value, &record)) {
      AGENTFS_TRY(DropContent(&work, record.content, layer->id));
      AGENTFS_TRY(DropXattrs(&work, key->node, layer->id));
    }
    Delete(&work, tables::kNodes, std::move(row.key));
  }
  AGENTFS_ASSIGN(auto entries, IndexedRowsOfLayer(*volume_.store, tables::kEntries, layer->id));
  for (Row& row : entries) Delete(&work, tables::kEntries, std::move(row.key));
  AGENTFS_TRY(DropOrphans(&work, layer->id));
  work.dropped_bytes = layer->counters.stored_bytes.load();
  AGENTFS_TRY(Append(std::move(work)));

  volume_.node_records.fetch_sub(static_cast<int64_t>(nodes.size()));
  volume_.stored_bytes.fetch_sub(layer->counters.stored_bytes.load());
  absl::MutexLock versions(&volume_.versions_mu);
  Journal::Change change(*volume_.journal);
  change.Delete(tables::kLayers, LayerKey(layer->id));
  absl::MutexLock lock(&volume_.tree_mu);
  volume_.tree.Remove({layer});
  ++report_.layers_removed;
  return Ok();
}

// ---- layers that nobody names

Result<bool> GarbageCollector::MoveRow(Work* work, TableId table, const std::string& key,
                                       LayerId child) {
  AGENTFS_ASSIGN(auto row, volume_.store->Get(table, key));
  if (!row) return false;
  std::string target = InLayer(key, child);
  AGENTFS_ASSIGN(auto existing, volume_.store->Get(table, target));
  // First there, then not here: a crash in between must not lose the row.
  if (!existing) {
    Put(work, table, std::move(target), std::move(row->value), std::move(row->blob));
  }
  Delete(work, table, key);
  return !existing;
}

Result<void> GarbageCollector::MoveContent(Work* work, ContentId content, LayerId layer,
                                           LayerId child) {
  if (!content) return Ok();
  const std::string prefix = KeyInt(content.value);
  AGENTFS_ASSIGN(RowKeys data, RowsOfLayer(*volume_.store, tables::kData, prefix, layer));
  for (const std::string& key : data.keys) {
    AGENTFS_ASSIGN(auto row, volume_.store->Get(tables::kData, key));
    AGENTFS_ASSIGN(const bool moved, MoveRow(work, tables::kData, key, child));
    if (!moved && row) work->dropped_bytes += static_cast<int64_t>(row->blob.size());
  }
  AGENTFS_ASSIGN(RowKeys spans, RowsOfLayer(*volume_.store, tables::kSpans, prefix, layer));
  AGENTFS_ASSIGN(auto objects, ObjectsOf(*volume_.store, content, layer));
  for (const std::string& key : spans.keys) {
    AGENTFS_ASSIGN(const bool moved, MoveRow(work, tables::kSpans, key, child));
    if (moved) continue;
    // The child has a row of its own, which may map some pages of the layer's objects.
    AGENTFS_ASSIGN(const int64_t had, MappedBytes(*volume_.store, {key}, objects));
    AGENTFS_ASSIGN(const int64_t keeps,
                   MappedBytes(*volume_.store, {InLayer(key, child)}, objects));
    work->dropped_bytes += had - keeps;
  }
  // The child's spans may still map pages of the layer's objects, so these stay.
  for (ObjectId object : objects) {
    Put(work, tables::kObjects, ObjectKey(content, child, object), "");
    Delete(work, tables::kObjects, ObjectKey(content, layer, object));
  }
  return Ok();
}

Result<void> GarbageCollector::MergeNode(Work* work, const Row& row, LayerId layer, LayerId child) {
  const auto key = ParseNodeKey(row.key);
  NodeRecord record;
  if (!key || !DecodeNode(row.value, &record)) return Error(EBADMSG);
  AGENTFS_ASSIGN(auto above, volume_.store->Get(tables::kNodes, NodeKey(key->node, child)));
  if (!above) {
    if (merging_.contains(record.born)) record.born = child;
    Put(work, tables::kNodes, NodeKey(key->node, child), EncodeNode(record));
  }
  Delete(work, tables::kNodes, row.key);
  if (above) {
    volume_.node_records.fetch_sub(1);
    NodeRecord upper;
    if (!DecodeNode(above->value, &upper)) return Error(EBADMSG);
    const bool born_here = merging_.contains(upper.born);
    if (upper.nlink == 0) {
      removed_.insert(key->node);
      // Made and removed between two names: nothing of it is left.
      AGENTFS_TRY(DropContent(work, record.content, layer));
      AGENTFS_TRY(DropXattrs(work, key->node, layer));
      if (born_here && record.born == upper.born && record.born == layer) {
        Delete(work, tables::kNodes, NodeKey(key->node, child));
        volume_.node_records.fetch_sub(1);
      }
      return Ok();
    }
    if (upper.content != record.content) {
      AGENTFS_TRY(DropContent(work, record.content, layer));
      record.content = ContentId();
    }
    if (born_here) {
      upper.born = child;
      Put(work, tables::kNodes, NodeKey(key->node, child), EncodeNode(upper));
    }
  }
  AGENTFS_TRY(MoveContent(work, record.content, layer, child));
  AGENTFS_ASSIGN(RowKeys xattrs,
                 RowsOfLayer(*volume_.store, tables::kXattrs, KeyInt(key->node.value), layer));
  for (const std::string& xattr : xattrs.keys) {
    AGENTFS_TRY(MoveRow(work, tables::kXattrs, xattr, child));
  }
  return Ok();
}

Result<void> GarbageCollector::MergeEntry(Work* work, const Row& row, LayerId child) {
  const auto key = ParseEntryKey(row.key);
  if (!key) return Error(EBADMSG);
  if (removed_.contains(key->parent)) {
    Delete(work, tables::kEntries, row.key);  // went with its directory
    return Ok();
  }
  AGENTFS_TRY(MoveRow(work, tables::kEntries, row.key, child));
  return Ok();
}

Result<void> GarbageCollector::MergeLayer(Layer* layer, Layer* child) {
  Work work;
  AGENTFS_ASSIGN(auto nodes, IndexedRowsOfLayer(*volume_.store, tables::kNodes, layer->id));
  for (const Row& row : nodes) AGENTFS_TRY(MergeNode(&work, row, layer->id, child->id));
  AGENTFS_ASSIGN(auto entries, IndexedRowsOfLayer(*volume_.store, tables::kEntries, layer->id));
  for (const Row& row : entries) AGENTFS_TRY(MergeEntry(&work, row, child->id));
  const int64_t dropped = work.dropped_bytes;
  // Nobody may look for a version while rows are on their way from one layer to the other.
  absl::MutexLock versions(&volume_.versions_mu);
  AGENTFS_TRY(Append(std::move(work)));
  const int64_t stored = layer->counters.stored_bytes.exchange(0);
  child->counters.stored_bytes.fetch_add(stored - dropped);
  volume_.stored_bytes.fetch_sub(dropped);
  volume_.LayerChanged(layer);
  volume_.LayerChanged(child);
  return volume_.journal->Flush(Durability::kNone);
}

Result<void> GarbageCollector::MergeInto(const std::vector<Layer*>& run, Layer* child) {
  merging_.clear();
  removed_.clear();
  for (const Layer* layer : run) merging_.insert(layer->id);
  // The newest first, so that of two versions the newer is already there.
  for (auto it = run.rbegin(); it != run.rend(); ++it) AGENTFS_TRY(MergeLayer(*it, child));
  report_.layers_merged += run.size();
  absl::MutexLock versions(&volume_.versions_mu);
  Journal::Change change(*volume_.journal);
  for (const Layer* layer : run) change.Delete(tables::kLayers, LayerKey(layer->id));
  absl::MutexLock lock(&volume_.tree_mu);
  volume_.tree.Remove(run);
  volume_.LayerChanged(child);
  return Ok();
}

Result<void> GarbageCollector::RemoveStrayObjects() {
  if (volume_.blobs == nullptr) return Ok();
  absl::flat_hash_set<ObjectId> known;
  AGENTFS_TRY(volume_.store->Scan(ScanRange{tables::kObjects, "", {}, {}, Order::kAscending, false},
                                  [&](const RowView& row) {
                                    if (auto key = ParseObjectKey(row.key))
                                      known.insert(key->object);
                                    return Visit::kContinue;
                                  }));
  std::vector<ObjectId> stray;
  uint64_t bytes = 0;
  AGENTFS_TRY(volume_.blobs->List([&](ObjectId object, uint64_t stored) {
    if (known.contains(object)) return;
    stray.push_back(object);
    bytes += stored;
  }));
  for (ObjectId object : stray) AGENTFS_TRY(volume_.blobs->Remove(object));
  report_.objects_removed += stray.size();
  report_.bytes_reclaimed += bytes;
  return Ok();
}

// ---- the volume's part

namespace {

// Layers that no name leads to, leaves first.
std::vector<Layer*> Unreachable(const std::vector<Layer*>& layers) {
  absl::flat_hash_set<const Layer*> needed;
  std::vector<Layer*> gone;
  for (auto it = layers.rbegin(); it != layers.rend(); ++it) {
    Layer* layer = *it;
    if (layer->names == 0 && !needed.contains(layer)) {
      gone.push_back(layer);
    } else if (layer->parent != nullptr) {
      needed.insert(layer->parent);
    }
  }
  return gone;
}

}  // namespace

Result<GcReport> VolumeImpl::CollectGarbage() {
  absl::MutexLock lock(&mu_);
  AGENTFS_TRY(DropIdleViews());
  AGENTFS_TRY(state_->FlushAndReap());
  GarbageCollector collector(*state_);
  std::vector<Layer*> layers;
  {
    absl::ReaderMutexLock tree_lock(&state_->tree_mu);
    layers = state_->tree.All();
  }
  for (Layer* layer : Unreachable(layers)) AGENTFS_TRY(collector.RemoveLayer(layer));
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  AGENTFS_TRY(MergeUnnamed(collector));
  bool in_use = false;
  for (auto& [name, branch] : branches_) in_use |= branch.view && branch.view->handles.load() > 0;
  AGENTFS_TRY(state_->journal->Flush(Durability::kSynced));
  if (!in_use) AGENTFS_TRY(collector.RemoveStrayObjects());
  GcReport report = collector.report();
  AGENTFS_ASSIGN(const uint64_t kept, CollectKept());
  report.bytes_reclaimed += kept;
  return report;
}

Result<void> VolumeImpl::MergeUnnamed(GarbageCollector& collector) {
  std::vector<Layer*> layers;
  {
    absl::ReaderMutexLock tree_lock(&state_->tree_mu);
    layers = state_->tree.All();
  }
  absl::flat_hash_set<const Layer*> written;  // by a view that has things in memory
  for (auto& [name, branch] : branches_) {
    if (branch.view != nullptr) written.insert(branch.layer);
  }
  absl::flat_hash_set<LayerId> with_orphans;
  AGENTFS_TRY(state_->store->Scan(ScanRange{tables::kOrphans, "", {}, {}, Order::kAscending, false},
                                  [&](const RowView& row) {
                                    with_orphans.insert(LayerId(KeyReader(row.key).Int()));
                                    return Visit::kContinue;
                                  }));
  const auto mergeable = [&](const Layer* layer) {
    return layer != nullptr && layer->sealed && layer->names == 0 && layer->children == 1 &&
           layer->id != kRootLayer && !with_orphans.contains(layer->id);
  };
  std::vector<std::pair<std::vector<Layer*>, Layer*>> runs;
  for (Layer* child : layers) {
    if (mergeable(child) || written.contains(child) || with_orphans.contains(child->id)) continue;
    std::vector<Layer*> run;
    for (Layer* at = child->parent; mergeable(at); at = at->parent) run.push_back(at);
    if (run.empty()) continue;
    std::reverse(run.begin(), run.end());
    runs.emplace_back(std::move(run), child);
  }
  for (auto& [run, child] : runs) AGENTFS_TRY(collector.MergeInto(run, child));
  return Ok();
}

}  // namespace agentfs
