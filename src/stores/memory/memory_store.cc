// SPDX-License-Identifier: Apache-2.0
//
// Rows in ordered trees, one for each table and one for each index. A commit is staged without
// blocking readers (rows allocated, blobs past the budget written to the spill file), then applied
// in one short exclusive section; whatever can fail happens while staging.
//
// Lock order: commit_mu_, then mu_.
#include <deque>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/stores.h"
#include "store/key_layout.h"
#include "stores/memory/row_arena.h"
#include "stores/memory/row_tree.h"
#include "stores/memory/spill_file.h"

namespace agentfs {
namespace {

class MemoryStore : public Store {
 public:
  MemoryStore(const Schema& schema, const MemoryStoreOptions& options)
      : schema_(schema),
        layouts_(MakeKeyLayouts(schema)),
        budget_(options.memory_budget),
        spill_(options.spill_directory) {
    for (const KeyLayout& layout : layouts_) trees_.emplace_back(arena_, layout.has_index());
  }

  Result<std::optional<Row>> Get(TableId table, std::string_view key) override;
  Result<void> Scan(const ScanRange& range, const Visitor& visit) override;
  Result<void> Commit(const Batch& batch, Durability durability) override;
  Result<void> Close() override;
  StoreCapabilities capabilities() const override { return {.name = "memory"}; }
  Result<Usage> GetUsage() override;

 private:
  // What the rows take. Blobs in memory count with the capacity of their Buffers.
  struct Held {
    uint64_t row_bytes = 0;
    uint64_t blob_bytes = 0;
    uint64_t spilled_bytes = 0;

    void Add(const StoredRow& row);
    void Remove(const StoredRow& row);
  };
  using Staged = std::vector<StoredRowPtr>;  // null for a delete; as many as mutations

  Result<void> Stage(const Batch& batch, Staged* staged) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<void> StageBlob(const Buffer& blob, uint64_t staged_bytes, StoredRow* row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  // Puts the staged rows in place and leaves in `staged` the rows that they replaced.
  void Apply(const Batch& batch, Staged* staged) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_)
      ABSL_LOCKS_EXCLUDED(mu_);
  void ReleaseSpilled(const Staged& rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  // The row's blob; read into `*loaded` if it is spilled.
  Result<const Buffer*> BlobOf(const StoredRow& row, Buffer* loaded) const;

  const Schema schema_;
  const std::vector<KeyLayout> layouts_;
  const uint64_t budget_;

  absl::Mutex commit_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  // Its extents are allocated and released under commit_mu_, and read under mu_ (shared): a commit
  // releases an extent only after an exclusive section in which its row went away.
  SpillFile spill_;

  RowArena arena_;  // used under commit_mu_

  absl::Mutex mu_;
  std::deque<RowTree> trees_ ABSL_GUARDED_BY(mu_);
  Held held_ ABSL_GUARDED_BY(mu_);  // written under both locks
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

void MemoryStore::Held::Add(const StoredRow& row) {
  row_bytes += row.key_size + row.value_size;
  blob_bytes += row.blob.capacity();
  spilled_bytes += row.spill_size;
}

void MemoryStore::Held::Remove(const StoredRow& row) {
  row_bytes -= row.key_size + row.value_size;
  blob_bytes -= row.blob.capacity();
  spilled_bytes -= row.spill_size;
}

Result<const Buffer*> MemoryStore::BlobOf(const StoredRow& row, Buffer* loaded) const {
  if (row.spill_size == 0) return &row.blob;
  AGENTFS_ASSIGN(*loaded, spill_.Read(row.spill_offset, row.spill_size));
  return loaded;
}

Result<std::optional<Row>> MemoryStore::Get(TableId table, std::string_view key) {
  AGENTFS_TRY(CheckTable(schema_, table));
  absl::ReaderMutexLock lock(&mu_);
  if (closed_) return Error(EBADF);
  const StoredRow* row = trees_[table].Find(key);
  if (row == nullptr) return std::optional<Row>();
  Buffer loaded;
  AGENTFS_ASSIGN(const Buffer* blob, BlobOf(*row, &loaded));
  return std::optional<Row>(Row{std::string(row->key()), std::string(row->value()), *blob});
}

Result<void> MemoryStore::Scan(const ScanRange& range, const Visitor& visit) {
  AGENTFS_TRY(CheckScan(schema_, range));
  absl::ReaderMutexLock lock(&mu_);
  if (closed_) return Error(EBADF);
  Result<void> result;
  trees_[range.table].Scan(range, [&](const StoredRow& row) {
    Buffer loaded;
    auto blob = BlobOf(row, &loaded);
    if (!blob.ok()) {
      result = Error(blob.error());
      return Visit::kStop;
    }
    return visit(RowView{row.key(), row.value(), (*blob)->view(), *blob});
  });
  return result;
}

Result<void> MemoryStore::StageBlob(const Buffer& blob, uint64_t staged_bytes, StoredRow* row) {
  if (blob.size() == 0) return Ok();
  if (staged_bytes + blob.capacity() <= budget_) {
    row->blob = blob;
    return Ok();
  }
  AGENTFS_ASSIGN(row->spill_offset, spill_.Write(blob.view()));
  row->spill_size = static_cast<uint32_t>(blob.size());
  return Ok();
}

Result<void> MemoryStore::Stage(const Batch& batch, Staged* staged) {
  uint64_t blob_bytes;
  {
    absl::ReaderMutexLock lock(&mu_);
    if (closed_) return Error(EBADF);
    blob_bytes = held_.blob_bytes;
  }
  staged->reserve(batch.mutations.size());
  for (const Mutation& mutation : batch.mutations) {
    AGENTFS_ASSIGN(const size_t index_offset, CheckMutation(schema_, layouts_, mutation));
    if (mutation.kind == Mutation::Kind::kDelete) {
      staged->emplace_back();
      continue;
    }
    StoredRowPtr row =
        MakeStoredRow(arena_, mutation.key, mutation.value, static_cast<uint32_t>(index_offset));
    AGENTFS_TRY(StageBlob(mutation.blob, blob_bytes, row.get()));
    blob_bytes += row->blob.capacity();
    staged->push_back(std::move(row));
  }
  return Ok();
}

void MemoryStore::Apply(const Batch& batch, Staged* staged) {
  absl::MutexLock lock(&mu_);
  auto row = staged->begin();
  for (const Mutation& mutation : batch.mutations) {
    RowTree& tree = trees_[mutation.table];
    if (*row) held_.Add(**row);
    *row = *row ? tree.Put(std::move(*row)) : tree.Erase(mutation.key);
    if (*row) held_.Remove(**row);
    ++row;
  }
}

void MemoryStore::ReleaseSpilled(const Staged& rows) {
  for (const StoredRowPtr& row : rows) {
    if (row) spill_.Release(row->spill_offset, row->spill_size);
  }
}

Result<void> MemoryStore::Commit(const Batch& batch, Durability) {
  absl::MutexLock lock(&commit_mu_);
  Staged staged;
  Result<void> result = Stage(batch, &staged);
  if (result.ok()) Apply(batch, &staged);
  // Either the rows that were replaced or, after an error, those that never got in.
  ReleaseSpilled(staged);
  return result;
}

Result<void> MemoryStore::Close() {
  absl::MutexLock commit_lock(&commit_mu_);
  absl::MutexLock lock(&mu_);
  closed_ = true;
  trees_.clear();
  held_ = {};
  return Ok();
}

Result<Store::Usage> MemoryStore::GetUsage() {
  absl::ReaderMutexLock lock(&mu_);
  if (closed_) return Error(EBADF);
  return Usage{.memory_bytes = held_.row_bytes + held_.blob_bytes,
               .spilled_bytes = held_.spilled_bytes};
}

}  // namespace

Result<std::unique_ptr<Store>> OpenMemoryStore(const Schema& schema,
                                               const MemoryStoreOptions& options) {
  return std::unique_ptr<Store>(std::make_unique<MemoryStore>(schema, options));
}

}  // namespace agentfs
