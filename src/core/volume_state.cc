// SPDX-License-Identifier: Apache-2.0
#include "core/volume_state.h"

#include <algorithm>
#include <utility>

#include "core/records.h"
#include "store/schema.h"

namespace agentfs {

VolumeState::VolumeState(std::unique_ptr<Store> store_in, std::unique_ptr<BlobStore> blobs_in,
                         std::unique_ptr<BaseFs> base_in, const VolumeOptions& options_in,
                         const ContentLayout& layout_in)
    : options(options_in),
      layout(layout_in),
      store(std::move(store_in)),
      blobs(std::move(blobs_in)),
      base(std::move(base_in)),
      ops(options_in.audit),
      op_encoder(*store, ops),
      content_cache(options_in.content_cache_bytes),
      base_files(base.get()),
      read_ahead(options_in.read_ahead ? base.get() : nullptr, base_files),
      kept(options_in.kept_directory),
      reaper(*this) {}

void VolumeState::LayerChanged(Layer* layer) {
  if (layer->changed.load(std::memory_order_relaxed) || layer->changed.exchange(true)) return;
  absl::MutexLock lock(&changed_mu_);
  layer->has_rows = true;
  changed_layers_.push_back(layer->id);
}

void VolumeState::CountStored(LayerId id, int64_t bytes) {
  if (bytes == 0) return;
  stored_bytes.fetch_add(bytes);
  absl::ReaderMutexLock lock(&tree_mu);
  Layer* layer = tree.Find(id);
  if (layer == nullptr) return;
  layer->counters.stored_bytes.fetch_add(bytes);
  LayerChanged(layer);
}

LayerRecord VolumeState::RecordOf(const Layer& layer) {
  LayerRecord record;
  record.parent = layer.parent ? layer.parent->id : LayerId();
  record.sealed = layer.sealed;
  record.created_ns = layer.created_ns;
  record.stored_bytes = layer.counters.stored_bytes.load();
  record.files = layer.counters.files.load();
  record.directories = layer.counters.directories.load();
  record.total_size = layer.counters.total_size.load();
  return record;
}

// The journal's gate is held, so nothing changes meanwhile.
void VolumeState::WriteCounters() {
  std::vector<LayerId> changed;
  {
    absl::MutexLock lock(&changed_mu_);
    changed.swap(changed_layers_);
  }
  {
    absl::ReaderMutexLock lock(&tree_mu);
    for (LayerId id : changed) {
      Layer* layer = tree.Find(id);
      if (layer == nullptr) continue;
      layer->changed.store(false);
      journal->PutAtSeal(tables::kLayers, LayerKey(id), EncodeLayer(RecordOf(*layer)));
    }
  }
  for (Counter* counter : Counters()) {
    const uint64_t next = counter->next.load();
    if (next == counter->written) continue;
    counter->written = next;
    journal->PutAtSeal(tables::kMeta, NameKey(counter->name),
                       EncodeInt(static_cast<int64_t>(next)));
  }
  if (const int64_t records = node_records.load(); records != written_node_records_) {
    written_node_records_ = records;
    journal->PutAtSeal(tables::kMeta, NameKey("node_records"), EncodeInt(records));
  }
}

namespace {

Error DamagedMeta(std::string_view name) {
  return Error(EBADMSG, "the value of " + std::string(name) + " in table meta is damaged",
               "run `agentfs fsck --repair`");
}

}  // namespace

Result<std::optional<int64_t>> VolumeState::ReadMeta(std::string_view name) {
  AGENTFS_ASSIGN(auto row, store->Get(tables::kMeta, NameKey(name)));
  if (!row) return std::optional<int64_t>();
  int64_t value = 0;
  if (!DecodeInt(row->value, &value) || value < 0) return DamagedMeta(name);
  return std::optional<int64_t>(value);
}

Result<void> VolumeState::ReadLayout() {
  AGENTFS_ASSIGN(const auto size, ReadMeta(kChunkSizeName));
  if (size && !ContentLayout::IsChunkSize(*size)) return DamagedMeta(kChunkSizeName);
  layout.chunk_size = size ? static_cast<uint32_t>(*size) : kDefaultChunkSize;
  layout.inline_limit = std::min(layout.inline_limit, layout.chunk_size);
  return Ok();
}

Result<void> VolumeState::ReadCounters() {
  for (Counter* counter : Counters()) {
    AGENTFS_ASSIGN(auto value, ReadMeta(counter->name));
    if (value && *value > 0) counter->next = static_cast<uint64_t>(*value);
    counter->written = value ? static_cast<uint64_t>(*value) : 0;
  }
  AGENTFS_ASSIGN(auto records, ReadMeta("node_records"));
  node_records = written_node_records_ = records.value_or(0);
  return Ok();
}

Result<void> VolumeState::FlushAndReap() {
  do {
    AGENTFS_TRY(journal->Flush(Durability::kNone));
  } while (!reaper.idle());
  return Ok();
}

}  // namespace agentfs
