// SPDX-License-Identifier: Apache-2.0
//
// Opening and closing a volume; its views; its figures.
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "core/volume_impl.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

Error DamagedRow(std::string_view table) {
  return Error(EBADMSG, "a row of table " + std::string(table) + " is damaged or missing",
               "run `agentfs fsck --repair`, or go back to a copy of the database");
}

ScanRange WholeTable(TableId table) { return {table, "", {}, {}, Order::kAscending, false}; }

}  // namespace

Result<std::unique_ptr<Volume>> Volume::Open(std::unique_ptr<Store> store,
                                             std::unique_ptr<BlobStore> blobs,
                                             std::unique_ptr<BaseFs> base,
                                             const VolumeOptions& options) {
  return VolumeImpl::Open(std::move(store), std::move(blobs), std::move(base), options,
                          ContentLayout::For(options));
}

Result<std::unique_ptr<Volume>> VolumeImpl::Open(std::unique_ptr<Store> store,
                                                 std::unique_ptr<BlobStore> blobs,
                                                 std::unique_ptr<BaseFs> base,
                                                 const VolumeOptions& options,
                                                 const ContentLayout& layout) {
  // Some distributions' abseil records the order of all locks ever taken, globally, and aborts on
  // a cycle in it. Ours follows the tree (a directory before its children), which renames change.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  auto volume = std::make_unique<VolumeImpl>(std::make_unique<VolumeState>(
      std::move(store), std::move(blobs), std::move(base), options, layout));
  AGENTFS_TRY(volume->Start());
  return std::unique_ptr<Volume>(std::move(volume));
}

VolumeImpl::~VolumeImpl() {
  if (state_->base != nullptr) (void)state_->base->Observe(nullptr);
  if (state_->journal != nullptr) {
    EndGrowth();
    (void)state_->journal->Close();
  }
  absl::MutexLock lock(&mu_);
  state_->journal.reset();  // its batches hold nodes of the views
  branches_.clear();
  snapshot_views_.clear();
}

// ---- starting

Result<void> VolumeImpl::Start() {
  AGENTFS_TRY(CheckBlobs());
  if (state_->options.watch_base && state_->base != nullptr) {
    // Where that cannot be had, views say so (ObserversHearAll).
    if (!state_->base->Observe(this).ok()) state_->base_unwatched = true;
  }
  AGENTFS_TRY(state_->ReadCounters());
  AGENTFS_TRY(state_->op_encoder.Load());
  AGENTFS_TRY(LoadLayers());
  AGENTFS_ASSIGN(const bool empty, IsEmpty());
  if (!empty) AGENTFS_TRY(state_->ReadLayout());
  StartJournal();
  if (empty) return CreateFirst();
  AGENTFS_TRY(LoadNames());
  AGENTFS_TRY(RaiseCounters());
  AGENTFS_TRY(LoadChangedBaseNodes());
  AGENTFS_TRY(RecoverGrowing());
  return state_->reaper.LoadLeftovers();
}

// The first batch has rows in all of these.
Result<bool> VolumeImpl::IsEmpty() {
  bool empty = true;
  for (TableId table : {tables::kMeta, tables::kLayers, tables::kBranches, tables::kNodes}) {
    AGENTFS_TRY(state_->store->Scan(WholeTable(table), [&](const RowView&) {
      empty = false;
      return Visit::kStop;
    }));
  }
  absl::ReaderMutexLock lock(&state_->tree_mu);
  if (!empty && state_->tree.Find(kRootLayer) == nullptr) return DamagedRow("layers");
  return empty;
}

// A store that has content in objects cannot do without them.
Result<void> VolumeImpl::CheckBlobs() {
  if (state_->blobs != nullptr) return Ok();
  bool has_objects = false;
  AGENTFS_TRY(state_->store->Scan(WholeTable(tables::kObjects), [&](const RowView&) {
    has_objects = true;
    return Visit::kStop;
  }));
  if (!has_objects) return Ok();
  return Error(EINVAL, "the database keeps large files in objects, but is opened without them",
               "open the workspace that it belongs to, with its objects/ directory");
}

void VolumeImpl::StartJournal() {
  Journal::Hooks hooks;
  hooks.before_seal = [this] { state_->reaper.Sweep(); };
  hooks.at_seal = [this] { state_->WriteCounters(); };
  hooks.after_commit = [this] { AfterCommit(); };
  hooks.has_work = [this] { return !state_->reaper.idle(); };
  hooks.after_cut = [this](OpEvents& ops, Batch& batch) {
    if (ops.empty() && !state_->op_encoder.HasWork()) return;
    state_->op_encoder.Encode(ops, batch);
    ops.Clear();
  };
  state_->journal = std::make_unique<Journal>(
      *state_->store,
      Journal::Options{state_->options.max_pending_bytes, state_->options.commit_interval_ms},
      std::move(hooks));
}

Result<void> VolumeImpl::CreateFirst() {
  const int64_t now = ToNanoseconds(Now());
  {
    absl::MutexLock lock(&mu_);
    Layer* root = AddLayer(nullptr);
    root->names = 1;  // "base" names it, for ever
    Layer* open = root;
    if (!state_->options.fill_base || state_->base != nullptr) {
      root->sealed = true;
      open = AddLayer(root);
    }
    ++open->names;
    branches_[std::string(kMainBranch)] = Branch{open, now, nullptr};
    Journal::Exclusive exclusive(*state_->journal);
    if (state_->base == nullptr) {
      exclusive.Put(tables::kNodes, NodeKey(kRootNode, root->id),
                    EncodeNode(NewDirectory(root->id)));
      state_->node_records = 1;
      root->counters.directories = 1;
      open->counters.directories = 1;
      root->has_rows = true;
    }
    exclusive.Put(tables::kLayers, LayerKey(root->id), EncodeLayer(VolumeState::RecordOf(*root)));
    exclusive.Put(tables::kLayers, LayerKey(open->id), EncodeLayer(VolumeState::RecordOf(*open)));
    exclusive.Put(tables::kMeta, NameKey(kChunkSizeName), EncodeInt(state_->layout.chunk_size));
    exclusive.Put(tables::kBranches, NameKey(kMainBranch), EncodeBranch(open->id, now));
  }
  return state_->journal->Flush(Durability::kSynced);
}

Result<void> VolumeImpl::LoadLayers() {
  absl::MutexLock lock(&state_->tree_mu);
  Result<void> outcome;
  AGENTFS_TRY(state_->store->Scan(WholeTable(tables::kLayers), [&](const RowView& row) {
    state_->tree_mu.AssertHeld();
    LayerRecord record;
    const LayerId id(KeyReader(row.key).Int());
    Layer* parent = nullptr;
    const bool decoded = id && DecodeLayer(row.value, &record) && record.parent < id;
    if (decoded && record.parent) parent = state_->tree.Find(record.parent);
    if (!decoded || (record.parent && parent == nullptr)) {
      outcome = DamagedRow("layers");
      return Visit::kStop;
    }
    Layer* layer = state_->tree.Add(id, parent, record.created_ns);
    layer->sealed = record.sealed;
    layer->loaded = true;
    state_->layers.RaiseAbove(id.value);
    layer->counters.stored_bytes = record.stored_bytes;
    layer->counters.files = record.files;
    layer->counters.directories = record.directories;
    layer->counters.total_size = record.total_size;
    state_->stored_bytes += record.stored_bytes;
    if (id == kRootLayer) layer->names = 1;
    return Visit::kContinue;
  }));
  return outcome;
}

Result<void> VolumeImpl::LoadNames() {
  absl::MutexLock lock(&mu_);
  absl::ReaderMutexLock tree_lock(&state_->tree_mu);
  Result<void> outcome;
  AGENTFS_TRY(state_->store->Scan(WholeTable(tables::kBranches), [&](const RowView& row) {
    mu_.AssertHeld();
    state_->tree_mu.AssertReaderHeld();
    LayerId id;
    Branch branch;
    const bool decoded = DecodeBranch(row.value, &id, &branch.created_ns);
    branch.layer = decoded ? state_->tree.Find(id) : nullptr;
    if (branch.layer == nullptr || branch.layer->sealed) {
      outcome = DamagedRow("branches");
      return Visit::kStop;
    }
    ++branch.layer->names;
    branches_[KeyReader(row.key).Bytes()] = std::move(branch);
    return Visit::kContinue;
  }));
  AGENTFS_TRY(outcome);
  if (!branches_.contains(kMainBranch)) return DamagedRow("branches");
  AGENTFS_TRY(state_->store->Scan(WholeTable(tables::kSnapshots), [&](const RowView& row) {
    mu_.AssertHeld();
    state_->tree_mu.AssertReaderHeld();
    SnapshotRecord record;
    const uint64_t number = KeyReader(row.key).Int();
    Layer* layer = DecodeSnapshot(row.value, &record) ? state_->tree.Find(record.layer) : nullptr;
    if (layer == nullptr) {
      outcome = DamagedRow("snapshots");
      return Visit::kStop;
    }
    ++layer->names;
    state_->snapshots.RaiseAbove(number);
    snapshot_numbers_[record.name] = number;
    snapshots_[number] =
        SnapshotInfo{record.name,   number,         record.layer,
                     record.branch, record.message, FromNanoseconds(record.created_ns)};
    return Visit::kContinue;
  }));
  return outcome;
}

// The counters are only believed as far as no row contradicts them: an id is never used twice.
Result<void> VolumeImpl::RaiseCounters() {
  const auto last = [&](TableId table, const std::string& upper, VolumeState::Counter& counter) {
    ScanRange range{table, "", {}, upper, Order::kDescending, false};
    return state_->store->Scan(range, [&](const RowView& row) {
      counter.RaiseAbove(KeyReader(row.key).Int());
      return Visit::kStop;
    });
  };
  const std::string any = KeyInt(INT64_MAX);
  ScanRange by_layer{tables::kNodes, "", {}, any, Order::kDescending, true};
  AGENTFS_TRY(state_->store->Scan(by_layer, [&](const RowView& row) {
    if (auto key = ParseNodeKey(row.key)) state_->layers.RaiseAbove(key->layer.value);
    return Visit::kStop;
  }));
  AGENTFS_TRY(last(tables::kNodes, KeyInt(kBaseNodeBit - 1), state_->nodes));
  AGENTFS_TRY(last(tables::kData, any, state_->contents));
  AGENTFS_TRY(last(tables::kExecs, any, state_->execs));
  AGENTFS_TRY(last(tables::kCalls, any, state_->calls));
  return last(tables::kSpans, any, state_->contents);
}

Result<void> VolumeImpl::LoadChangedBaseNodes() {
  const std::string first = KeyInt(kBaseNodeBit);
  ScanRange range{tables::kNodes, "", first, {}, Order::kAscending, false};
  return state_->store->Scan(range, [&](const RowView& row) {
    if (auto key = ParseNodeKey(row.key)) state_->changed_base_nodes.Add(key->node);
    return Visit::kContinue;
  });
}

// ---- views

std::shared_ptr<FileSystem> VolumeImpl::Handle(View* view) {
  view->handles.fetch_add(1);
  return {view, [](FileSystem* fs) { static_cast<View*>(fs)->handles.fetch_sub(1); }};
}

Result<std::shared_ptr<FileSystem>> VolumeImpl::OpenBranch(std::string_view name) {
  absl::MutexLock lock(&mu_);
  AGENTFS_ASSIGN(Branch * branch, FindBranch(name));
  if (branch->view == nullptr) {
    branch->view = std::make_unique<View>(*state_, branch->layer, ViewNodes::Access::kReadWrite);
    branch->view->SetBranch(std::string(name));
    // What the view reads from the store must be there; of a new branch that is what it was made
    // of.
    const Layer& layer = *branch->layer;
    const bool own = layer.has_rows || layer.parent == nullptr;
    branch->view->nodes().NeedBatch(own ? state_->journal->AppendedBatch()
                                        : layer.parent->sealed_batch);
  }
  return Handle(branch->view.get());
}

Result<std::shared_ptr<FileSystem>> VolumeImpl::OpenSnapshot(std::string_view ref) {
  absl::MutexLock lock(&mu_);
  LayerId id = kRootLayer;
  if (ref != "base") {
    SnapshotInfo* snapshot = FindSnapshot(ref);
    if (snapshot == nullptr) {
      return Error(ENOENT, "snapshot '" + std::string(ref) + "' does not exist");
    }
    id = snapshot->layer;
  }
  auto& view = snapshot_views_[id];
  if (view == nullptr) {
    absl::ReaderMutexLock tree_lock(&state_->tree_mu);
    Layer* layer = state_->tree.Find(id);
    view = std::make_unique<View>(*state_, layer, ViewNodes::Access::kReadOnly);
    view->nodes().NeedBatch(layer->sealed_batch);
    ++layer->names;
  }
  return Handle(view.get());
}

// Views of snapshots that nobody uses go, so that their layers can.
Result<void> VolumeImpl::DropIdleViews() {
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  for (auto it = snapshot_views_.begin(); it != snapshot_views_.end();) {
    if (it->second->handles.load() > 0) {
      ++it;
      continue;
    }
    --it->second->nodes().layer()->names;
    it = snapshot_views_.erase(it);
  }
  return Ok();
}

// On the committer's thread.
void VolumeImpl::AfterCommit() {
  state_->content_cache.Trim();
  if (!mu_.TryLock()) return;  // no view may go away meanwhile
  EvictNodesLocked();
  mu_.Unlock();
}

void VolumeImpl::EvictNodesLocked() {
  size_t cached = 0;
  std::vector<View*> views;
  for (auto& [name, branch] : branches_) views.push_back(branch.view.get());
  for (auto& [layer, view] : snapshot_views_) views.push_back(view.get());
  for (View* view : views) cached += view ? view->nodes().table().size() : 0;
  const size_t limit = state_->options.cached_nodes;
  if (cached > limit) {
    // A quarter more than needed, so that the next batch does not come here again.
    const size_t wanted = cached - limit + limit / 4;
    for (View* view : views) {
      if (view != nullptr) view->nodes().Evict(wanted * view->nodes().table().size() / cached + 1);
    }
  }
}

// ---- figures and the end

Result<VolumeStats> VolumeImpl::GetStats() {
  VolumeStats stats;
  AGENTFS_ASSIGN(Store::Usage usage, state_->store->GetUsage());
  absl::MutexLock lock(&mu_);
  // The figures of memory must not depend on how far the committer is with this.
  state_->content_cache.Trim();
  EvictNodesLocked();
  stats.branches = branches_.size();
  stats.snapshots = snapshots_.size();
  stats.nodes = static_cast<uint64_t>(state_->node_records.load());
  stats.stored_bytes = static_cast<uint64_t>(state_->stored_bytes.load());
  stats.pending_bytes = state_->journal->pending_bytes();
  stats.spilled_bytes = usage.spilled_bytes;
  stats.memory_bytes = state_->content_cache.bytes() + stats.pending_bytes + usage.memory_bytes;
  absl::flat_hash_map<const Layer*, uint32_t> seen_by;
  for (auto& [name, branch] : branches_) {
    if (branch.view) stats.cached_nodes += branch.view->nodes().table().size();
  }
  for (auto& [layer, view] : snapshot_views_) stats.cached_nodes += view->nodes().table().size();
  // How many branches see a layer: its own and those of its children.
  absl::ReaderMutexLock tree_lock(&state_->tree_mu);
  stats.layers = state_->tree.size();
  for (auto& [name, branch] : branches_) ++seen_by[branch.layer];
  std::vector<Layer*> layers = state_->tree.All();
  for (auto it = layers.rbegin(); it != layers.rend(); ++it) {
    const uint32_t count = seen_by[*it];
    if ((*it)->parent != nullptr) seen_by[(*it)->parent] += count;
    if (count >= 2)
      stats.shared_bytes += static_cast<uint64_t>((*it)->counters.stored_bytes.load());
  }
  return stats;
}

Result<ViewStats> VolumeImpl::GetViewStats(std::string_view ref) {
  absl::MutexLock lock(&mu_);
  absl::ReaderMutexLock tree_lock(&state_->tree_mu);
  AGENTFS_ASSIGN(const Layer* layer, LayerOf(ref));
  ViewStats stats;
  stats.files = static_cast<uint64_t>(layer->counters.files.load());
  stats.directories = static_cast<uint64_t>(layer->counters.directories.load());
  stats.total_size = static_cast<uint64_t>(layer->counters.total_size.load());
  return stats;
}

Result<void> VolumeImpl::Flush(Durability durability) { return state_->journal->Flush(durability); }

Result<void> VolumeImpl::Close() {
  {
    absl::MutexLock lock(&mu_);
    if (closed_) return Ok();
    for (auto& [name, branch] : branches_) {
      if (branch.view && branch.view->handles.load() > 0) {
        return Error(EBUSY, "a view of branch '" + name + "' is still open");
      }
    }
    for (auto& [layer, view] : snapshot_views_) {
      if (view->handles.load() > 0) return Error(EBUSY, "a view of a snapshot is still open");
    }
    closed_ = true;
  }
  EndGrowth();
  AGENTFS_TRY(state_->FlushAndReap());
  AGENTFS_TRY(state_->journal->Close());
  return state_->store->Close();
}

}  // namespace agentfs
