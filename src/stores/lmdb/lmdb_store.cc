// SPDX-License-Identifier: Apache-2.0
//
// One LMDB file with a database for each table, and one for each index.
//   Record: the length of the value (4 bytes, little-endian), the value, the blob.
//   Index:  the key in the second order → the offset of the index column in the key (2 bytes).
//
// Syncing. LMDB can do without syncs (MDB_NOSYNC), but then a power cut may leave a meta page that
// points at pages never written: the whole file lost, also what was synced before. So each commit
// syncs its pages; MDB_NOMETASYNC leaves out only the sync of the meta page, at the cost of the
// last commit, not of the file. A kSynced commit writes that page synced too.
//
// Lock order: commit_mu_, then map_mu_.
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/stores.h"
#include "store/key_layout.h"
#include "stores/lmdb/environment.h"
#include "stores/lmdb/lmdb_error.h"

namespace agentfs {
namespace {

constexpr size_t kMaxIdleReaders = 16;

std::string_view ToView(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

bool DiskIsFull(const std::string& file) {
  constexpr uint64_t kAlmostNothing = 1 << 20;
  struct statvfs status;
  if (::statvfs(file.c_str(), &status) != 0) return false;
  return uint64_t{status.f_bavail} * status.f_frsize < kAlmostNothing;
}

struct CursorClose {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using CursorPtr = std::unique_ptr<MDB_cursor, CursorClose>;

class LmdbStore : public Store {
 public:
  LmdbStore(std::string file, const Schema& schema, bool read_only, Environment environment)
      : file_(std::move(file)),
        schema_(schema),
        read_only_(read_only),
        layouts_(MakeKeyLayouts(schema)),
        tables_(std::move(environment.tables)),
        env_(std::move(environment.env)) {
    max_key_ = static_cast<size_t>(mdb_env_get_maxkeysize(env_.get()));
  }
  ~LmdbStore() override { Close().ok(); }

  Result<std::optional<Row>> Get(TableId table, std::string_view key) override;
  Result<void> Scan(const ScanRange& range, const Visitor& visit) override;
  Result<void> Commit(const Batch& batch, Durability durability) override;
  Result<void> Close() override;
  StoreCapabilities capabilities() const override {
    return {.name = "lmdb", .durable = true, .always_synced = true, .single_file = true};
  }
  Result<Usage> GetUsage() override;

 private:
  // A read transaction, renewed; goes back to the idle ones at the end of the block.
  class Reader;
  // The write transaction of one commit, with a cursor for each database: keys that ascend find
  // their page without a search.
  class Writer;

  enum class Outcome : uint8_t { kCommitted, kMapFull };
  Result<Outcome> TryCommit(const Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_)
      ABSL_LOCKS_EXCLUDED(map_mu_);
  // 0 or LMDB's error.
  Result<int> ApplyOne(const Mutation& mutation, Writer* writer) const;
  Result<void> GrowMap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_) ABSL_LOCKS_EXCLUDED(map_mu_);
  Result<void> Sync() ABSL_LOCKS_EXCLUDED(map_mu_);
  Result<void> VisitRows(MDB_txn* txn, const ScanRange& range, const Visitor& visit) const;
  Result<Visit> VisitOne(MDB_txn* txn, const ScanRange& range, const MDB_val& key,
                         const MDB_val& data, const Visitor& visit) const;
  Result<RowView> Unpack(std::string_view key, std::string_view record) const;
  Error Damaged() const { return LmdbError(MDB_CORRUPTED, "read", file_); }

  const std::string file_;
  const Schema schema_;
  const bool read_only_;
  const std::vector<KeyLayout> layouts_;
  const std::vector<TableHandles> tables_;
  size_t max_key_;

  absl::Mutex commit_mu_ ABSL_ACQUIRED_BEFORE(map_mu_);
  // Held shared while a transaction is active, exclusively to move the map and to close.
  absl::Mutex map_mu_;
  EnvironmentPtr env_ ABSL_GUARDED_BY(map_mu_);  // null when closed
  absl::Mutex idle_mu_ ABSL_ACQUIRED_AFTER(map_mu_);
  std::vector<TransactionPtr> idle_ ABSL_GUARDED_BY(idle_mu_);  // reset, not active
};

class LmdbStore::Reader {
 public:
  static Result<Reader> Begin(LmdbStore* store) ABSL_SHARED_LOCKS_REQUIRED(store->map_mu_) {
    TransactionPtr txn;
    {
      absl::MutexLock lock(&store->idle_mu_);
      if (!store->idle_.empty()) {
        txn = std::move(store->idle_.back());
        store->idle_.pop_back();
      }
    }
    if (txn == nullptr) {
      AGENTFS_ASSIGN(txn, BeginTransaction(store->env_.get(), MDB_RDONLY, store->file_));
    } else if (const int code = mdb_txn_renew(txn.get())) {
      return LmdbError(code, "read", store->file_);
    }
    return Reader(store, std::move(txn));
  }
  Reader(Reader&&) = default;
  ~Reader() {
    if (txn_ == nullptr) return;
    mdb_txn_reset(txn_.get());
    absl::MutexLock lock(&store_->idle_mu_);
    if (store_->idle_.size() < kMaxIdleReaders) store_->idle_.push_back(std::move(txn_));
  }
  MDB_txn* txn() const { return txn_.get(); }

 private:
  Reader(LmdbStore* store, TransactionPtr txn) : store_(store), txn_(std::move(txn)) {}
  LmdbStore* store_;
  TransactionPtr txn_;
};

class LmdbStore::Writer {
 public:
  // 0 or LMDB's error, as the functions below.
  int Begin(MDB_env* env) {
    MDB_txn* txn = nullptr;
    const int code = mdb_txn_begin(env, nullptr, 0, &txn);
    txn_.reset(txn);
    return code;
  }
  int Put(const TableHandles& table, const Mutation& mutation, size_t index_offset) {
    MDB_cursor* rows = nullptr;
    if (const int code = CursorOf(table.rows, &rows)) return code;
    int code = PutRecord(rows, mutation, table.index != 0 ? MDB_NOOVERWRITE : 0);
    // The index has only key columns: a row that is there already is in it.
    if (code == MDB_KEYEXIST) return PutRecord(rows, mutation, 0);
    if (code == 0 && table.index != 0) code = PutIndex(table.index, mutation.key, index_offset);
    return code;
  }
  int Delete(const TableHandles& table, std::string_view key, size_t index_offset) {
    MDB_val val = ToVal(key);
    int code = mdb_del(txn_.get(), table.rows, &val, nullptr);
    if (code == MDB_NOTFOUND) return 0;
    if (code == 0 && table.index != 0) {
      const std::string index_key = KeyLayout::IndexKey(key, index_offset);
      val = ToVal(index_key);
      code = mdb_del(txn_.get(), table.index, &val, nullptr);
    }
    return code;
  }
  int Commit() { return mdb_txn_commit(txn_.release()); }

 private:
  int CursorOf(MDB_dbi database, MDB_cursor** cursor) {
    if (cursors_.size() <= database) cursors_.resize(database + 1);
    if (cursors_[database] == nullptr) {
      // Belongs to the transaction, which closes it.
      if (const int code = mdb_cursor_open(txn_.get(), database, &cursors_[database])) return code;
    }
    *cursor = cursors_[database];
    return 0;
  }
  static int PutRecord(MDB_cursor* cursor, const Mutation& mutation, unsigned flags) {
    const std::string_view blob = mutation.blob.view();
    const auto value_size = static_cast<uint32_t>(mutation.value.size());
    MDB_val key = ToVal(mutation.key);
    MDB_val data{sizeof value_size + mutation.value.size() + blob.size(), nullptr};
    if (const int code = mdb_cursor_put(cursor, &key, &data, flags | MDB_RESERVE)) return code;
    char* out = static_cast<char*>(data.mv_data);
    std::memcpy(out, &value_size, sizeof value_size);
    out += sizeof value_size;
    if (value_size != 0) std::memcpy(out, mutation.value.data(), value_size);
    if (!blob.empty()) std::memcpy(out + value_size, blob.data(), blob.size());
    return 0;
  }
  int PutIndex(MDB_dbi database, std::string_view key, size_t index_offset) {
    MDB_cursor* cursor = nullptr;
    if (const int code = CursorOf(database, &cursor)) return code;
    const std::string index_key = KeyLayout::IndexKey(key, index_offset);
    auto offset = static_cast<uint16_t>(index_offset);
    MDB_val val = ToVal(index_key);
    MDB_val data{sizeof offset, &offset};
    return mdb_cursor_put(cursor, &val, &data, 0);
  }

  TransactionPtr txn_;
  std::vector<MDB_cursor*> cursors_;  // by database
};

Result<RowView> LmdbStore::Unpack(std::string_view key, std::string_view record) const {
  uint32_t value_size = 0;
  if (record.size() < sizeof value_size) return Damaged();
  std::memcpy(&value_size, record.data(), sizeof value_size);
  record.remove_prefix(sizeof value_size);
  if (value_size > record.size()) return Damaged();
  return RowView{key, record.substr(0, value_size), record.substr(value_size)};
}

Result<std::optional<Row>> LmdbStore::Get(TableId table, std::string_view key) {
  AGENTFS_TRY(CheckTable(schema_, table));
  absl::ReaderMutexLock lock(&map_mu_);
  if (env_ == nullptr) return Error(EBADF);
  AGENTFS_TRY(layouts_[table].Check(key));
  if (key.size() > max_key_ || tables_[table].rows == 0) return std::optional<Row>();
  AGENTFS_ASSIGN(const Reader reader, Reader::Begin(this));
  MDB_val val = ToVal(key), data;
  const int code = mdb_get(reader.txn(), tables_[table].rows, &val, &data);
  if (code == MDB_NOTFOUND) return std::optional<Row>();
  if (code != 0) return LmdbError(code, "read", file_);
  AGENTFS_ASSIGN(const RowView row, Unpack(key, ToView(data)));
  return std::optional<Row>(
      Row{std::string(row.key), std::string(row.value), Buffer::Copy(row.blob)});
}

Result<Visit> LmdbStore::VisitOne(MDB_txn* txn, const ScanRange& range, const MDB_val& key,
                                  const MDB_val& data, const Visitor& visit) const {
  if (!range.by_index) {
    AGENTFS_ASSIGN(const RowView row, Unpack(ToView(key), ToView(data)));
    return visit(row);
  }
  uint16_t offset = 0;
  const std::string_view index_key = ToView(key);
  if (data.mv_size != sizeof offset) return Damaged();
  std::memcpy(&offset, data.mv_data, sizeof offset);
  if (index_key.size() < size_t{8} + offset) return Damaged();
  std::string row_key(index_key.substr(8, offset));
  row_key.append(index_key.substr(0, 8)).append(index_key.substr(8 + offset));
  MDB_val val = ToVal(row_key), record;
  if (mdb_get(txn, tables_[range.table].rows, &val, &record) != 0) return Damaged();
  AGENTFS_ASSIGN(const RowView row, Unpack(row_key, ToView(record)));
  return visit(row);
}

Result<void> LmdbStore::VisitRows(MDB_txn* txn, const ScanRange& range,
                                  const Visitor& visit) const {
  const KeyBounds bounds = BoundsOf(range);
  const TableHandles& table = tables_[range.table];
  MDB_cursor* raw = nullptr;
  int code = mdb_cursor_open(txn, range.by_index ? table.index : table.rows, &raw);
  if (code != 0) return LmdbError(code, "read", file_);
  const CursorPtr cursor(raw);
  const bool ascending = range.order == Order::kAscending;
  MDB_val key{}, data{};
  if (ascending) {
    key = ToVal(bounds.begin);
    code = mdb_cursor_get(raw, &key, &data, bounds.begin.empty() ? MDB_FIRST : MDB_SET_RANGE);
  } else {
    // To the first key past the end, then one back.
    if (bounds.end) key = ToVal(*bounds.end);
    code = bounds.end ? mdb_cursor_get(raw, &key, &data, MDB_SET_RANGE) : MDB_NOTFOUND;
    code = mdb_cursor_get(raw, &key, &data, code == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
  }
  for (; code == 0; code = mdb_cursor_get(raw, &key, &data, ascending ? MDB_NEXT : MDB_PREV)) {
    const std::string_view at = ToView(key);
    if (at < bounds.begin || (bounds.end && at >= *bounds.end)) return Ok();
    AGENTFS_ASSIGN(const Visit next, VisitOne(txn, range, key, data, visit));
    if (next == Visit::kStop) return Ok();
  }
  if (code != MDB_NOTFOUND) return LmdbError(code, "read", file_);
  return Ok();
}

Result<void> LmdbStore::Scan(const ScanRange& range, const Visitor& visit) {
  AGENTFS_TRY(CheckScan(schema_, range));
  absl::ReaderMutexLock lock(&map_mu_);
  if (env_ == nullptr) return Error(EBADF);
  if (tables_[range.table].rows == 0) return Ok();
  AGENTFS_ASSIGN(const Reader reader, Reader::Begin(this));
  return VisitRows(reader.txn(), range, visit);
}

Result<int> LmdbStore::ApplyOne(const Mutation& mutation, Writer* writer) const {
  AGENTFS_ASSIGN(const size_t index_offset, CheckMutation(schema_, layouts_, mutation));
  if (mutation.key.size() > max_key_) {
    return Error(EINVAL, "cannot write to '" + file_ + "': a key of " +
                             std::to_string(mutation.key.size()) + " bytes is too long");
  }
  const TableHandles& table = tables_[mutation.table];
  return mutation.kind == Mutation::Kind::kPut ? writer->Put(table, mutation, index_offset)
                                               : writer->Delete(table, mutation.key, index_offset);
}

Result<LmdbStore::Outcome> LmdbStore::TryCommit(const Batch& batch) {
  absl::ReaderMutexLock lock(&map_mu_);
  if (env_ == nullptr) return Error(EBADF);
  Writer writer;
  int code = writer.Begin(env_.get());
  for (const Mutation& mutation : batch.mutations) {
    if (code != 0) break;
    AGENTFS_ASSIGN(code, ApplyOne(mutation, &writer));
  }
  if (code == 0) code = writer.Commit();
  if (code == MDB_MAP_FULL || code == MDB_MAP_RESIZED) return Outcome::kMapFull;
  // LMDB calls a write that was cut short EIO; on a full disk that is what it means.
  if (code == EIO && DiskIsFull(file_)) code = ENOSPC;
  if (code != 0) return LmdbError(code, "write to", file_);
  return Outcome::kCommitted;
}

Result<void> LmdbStore::GrowMap() {
  absl::MutexLock lock(&map_mu_);
  if (env_ == nullptr) return Error(EBADF);
  MDB_envinfo info;
  mdb_env_info(env_.get(), &info);
  if (const int code = mdb_env_set_mapsize(env_.get(), info.me_mapsize * 2)) {
    return LmdbError(code, "grow the map of", file_);
  }
  return Ok();
}

Result<void> LmdbStore::Sync() {
  absl::ReaderMutexLock lock(&map_mu_);
  if (env_ == nullptr) return Error(EBADF);
  if (read_only_) return Ok();
  if (const int code = mdb_env_sync(env_.get(), 1)) return LmdbError(code, "sync", file_);
  return Ok();
}

Result<void> LmdbStore::Commit(const Batch& batch, Durability durability) {
  absl::MutexLock commit_lock(&commit_mu_);
  if (batch.empty()) return durability == Durability::kSynced ? Sync() : Ok();
  {
    absl::ReaderMutexLock lock(&map_mu_);
    if (env_ == nullptr) return Error(EBADF);
    if (read_only_) {
      return Error(EROFS, "cannot write to '" + file_ + "': it is open read-only");
    }
    mdb_env_set_flags(env_.get(), MDB_NOMETASYNC, durability == Durability::kNone ? 1 : 0);
  }
  for (;;) {
    AGENTFS_ASSIGN(const Outcome outcome, TryCommit(batch));
    if (outcome == Outcome::kCommitted) return Ok();
    AGENTFS_TRY(GrowMap());
  }
}

Result<void> LmdbStore::Close() {
  absl::MutexLock commit_lock(&commit_mu_);
  {
    absl::ReaderMutexLock lock(&map_mu_);
    if (env_ == nullptr) return Ok();
  }
  Result<void> result = Sync();
  absl::MutexLock lock(&map_mu_);
  absl::MutexLock idle_lock(&idle_mu_);
  idle_.clear();
  env_.reset();
  return result;
}

Result<Store::Usage> LmdbStore::GetUsage() {
  absl::ReaderMutexLock lock(&map_mu_);
  if (env_ == nullptr) return Error(EBADF);
  struct stat status;
  if (::stat(file_.c_str(), &status) != 0) return LmdbError(errno, "stat", file_);
  return Usage{.file_bytes = static_cast<uint64_t>(status.st_size)};
}

}  // namespace

Result<std::unique_ptr<Store>> OpenLmdbStore(const std::string& file, const Schema& schema,
                                             const StoreOptions& options) {
  AGENTFS_ASSIGN(Environment environment, OpenEnvironment(file, schema, options));
  return std::unique_ptr<Store>(
      std::make_unique<LmdbStore>(file, schema, options.read_only, std::move(environment)));
}

}  // namespace agentfs
