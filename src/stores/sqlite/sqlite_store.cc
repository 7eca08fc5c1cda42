// SPDX-License-Identifier: Apache-2.0
//
// One SQLite file in WAL mode: one connection that commits, a pool that reads, one that moves the
// WAL into the file.
//
// Syncing. The committing connection has synchronous=NORMAL: it syncs nothing but the header of a
// WAL that starts anew (with OFF a power cut there could bring back pages older than the
// database's). A kSynced commit runs with FULL: the WAL, with all earlier batches, is synced before
// it counts as committed. A kSynced commit of nothing syncs the WAL as it is.
//
// Lock order: open_mu_, commit_mu_, then those of the pool, the checkpointer and the reserve.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/stores.h"
#include "store/file_version.h"
#include "store/key_layout.h"
#include "stores/sqlite/checkpointer.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/file_header.h"
#include "stores/sqlite/reader_pool.h"
#include "stores/sqlite/shm_file.h"
#include "stores/sqlite/table_sql.h"
#include "stores/sqlite/views.h"
#include "stores/sqlite/wal_file.h"
#include "sys/disk_reserve.h"
#include "sys/fs_stats.h"

namespace agentfs {
namespace {

// Numbers of the statements of a table; those of scans start at kScan.
enum StatementId : uint32_t { kPut = 0, kDelete = 1, kGet = 2, kScan = 16 };
uint32_t IdOf(TableId table, uint32_t id) { return uint32_t{table} << 16 | id; }

// With so much free on the disk nobody asks for more.
constexpr uint64_t kMuchRoom = uint64_t{4} << 30;
// What a disk that is getting full keeps for commits, beside the WAL.
constexpr const char* kReserveSuffix = "-reserve";

uint64_t FileSize(const std::string& file) {
  struct stat status;
  return ::stat(file.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// The blob of a row that a scan is at.
class RowBlobReader : public BlobReader {
 public:
  RowBlobReader(Connection& connection, const Table& table, TableSql::BlobPlace place)
      : connection_(connection), table_(table), place_(place) {}
  size_t size() const override { return place_.size; }
  Result<void> Read(size_t offset, std::span<char> out) override {
    if (out.empty()) return Ok();
    AGENTFS_ASSIGN(
        sqlite3_blob * blob,
        connection_.OpenBlob(std::string(table_.name), std::string(table_.blob), place_.rowid));
    const int code =
        sqlite3_blob_read(blob, out.data(), static_cast<int>(out.size()), static_cast<int>(offset));
    if (code != SQLITE_OK) return connection_.MakeError(code, "read");
    return Ok();
  }

 private:
  Connection& connection_;
  const Table& table_;
  const TableSql::BlobPlace place_;
};

class SqliteStore : public Store {
 public:
  SqliteStore(std::string file, const Schema& schema, Access access, uint32_t new_page_size)
      : file_(std::move(file)),
        schema_(schema),
        access_(access),
        page_size_(new_page_size),
        layouts_(MakeKeyLayouts(schema)),
        readers_(file_, access,
                 access == Access::kReadWrite ? ReaderPool::Writers::kOnlyThisStore
                                              : ReaderPool::Writers::kShared) {
    for (const Table& table : schema.tables) tables_.emplace_back(table);
  }
  ~SqliteStore() override { Close().ok(); }

  // Opens what is in the file; `state` says what there is.
  Result<void> Open(FileState state);

  Result<std::optional<Row>> Get(TableId table, std::string_view key) override;
  Result<void> Scan(const ScanRange& range, const Visitor& visit) override;
  Result<void> Commit(const Batch& batch, Durability durability) override;
  Result<void> Close() override;
  StoreCapabilities capabilities() const override {
    return {.name = "sqlite", .durable = true, .sql = true, .single_file = true};
  }
  Result<Usage> GetUsage() override;
  Room GetRoom() override;
  void MakeRoom() override;

 private:
  Result<void> CreateTables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<void> StartWriting(FileState state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  // The older version's file becomes one of the schema's.
  Result<void> AddTables(uint32_t found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<uint32_t> FileVersion(Connection& connection) const;
  Result<void> CheckTables(Connection& connection);
  bool IsAbsent(TableId table) const { return !HasTable(schema_.tables[table], file_version_); }
  Result<void> Apply(const Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<void> ApplyOne(const Mutation& mutation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<void> CommitBatch(const Batch& batch, Durability durability)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  // All of the WAL goes into the file, and the WAL away.
  Result<void> EndWal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<void> CommitTransaction(Durability durability) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<void> SetDurability(Durability durability) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);
  Result<void> SyncWal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_);

  const std::string file_;
  const Schema schema_;
  const Access access_;
  uint64_t page_size_;  // at first that of a file to be made; const after Open
  const std::vector<KeyLayout> layouts_;
  std::vector<TableSql> tables_;  // const after construction
  uint32_t file_version_ = 0;     // const after Open

  // Held shared by every call, exclusively by Close.
  absl::Mutex open_mu_ ABSL_ACQUIRED_BEFORE(commit_mu_);
  bool open_ ABSL_GUARDED_BY(open_mu_) = false;
  ReaderPool readers_;

  absl::Mutex commit_mu_;
  std::unique_ptr<Connection> writer_ ABSL_GUARDED_BY(commit_mu_);
  Durability writer_durability_ ABSL_GUARDED_BY(commit_mu_) = Durability::kSynced;
  // Frames in the WAL that may not be on the disk; at first perhaps those of a killed process.
  bool unsynced_ ABSL_GUARDED_BY(commit_mu_) = true;
  std::optional<WalFile> wal_ ABSL_GUARDED_BY(commit_mu_);  // the writer's
  std::optional<DiskReserve> reserve_;                      // set by Open to write, reset by Close
  uint64_t wal_pages_ = 0;                                  // set by the WAL hook, within commits
  std::unique_ptr<Checkpointer> checkpointer_;              // set by Open, reset by Close
};

Result<void> SqliteStore::CreateTables() {
  Connection& db = *writer_;
  AGENTFS_TRY(db.Execute(("PRAGMA page_size = " + std::to_string(page_size_)).c_str(), "create"));
  std::string sql = "BEGIN IMMEDIATE; PRAGMA application_id = " + std::to_string(kApplicationId) +
                    "; PRAGMA user_version = " + std::to_string(schema_.version) + ";";
  for (const TableSql& table : tables_) sql += table.CreateAll();
  sql += "COMMIT";
  AGENTFS_TRY(db.Execute(sql.c_str(), "create"));
  return Ok();
}

Result<void> SqliteStore::AddTables(uint32_t found) {
  std::string sql =
      "BEGIN IMMEDIATE; PRAGMA user_version = " + std::to_string(schema_.version) + ";";
  for (const TableSql& table : tables_) {
    if (!HasTable(table.table(), found)) sql += table.CreateAll();
  }
  sql += "COMMIT";
  const Result<void> done = writer_->Execute(sql.c_str(), "bring up to date");
  if (!done.ok() && sqlite3_get_autocommit(writer_->db()) == 0) writer_->Execute("ROLLBACK").ok();
  return done;
}

Result<uint32_t> SqliteStore::FileVersion(Connection& connection) const {
  AGENTFS_ASSIGN(const int64_t version, connection.QueryInt("PRAGMA user_version"));
  AGENTFS_TRY(CheckVersion(file_, static_cast<uint32_t>(version), schema_));
  return static_cast<uint32_t>(version);
}

Result<void> SqliteStore::CheckTables(Connection& connection) {
  AGENTFS_ASSIGN(file_version_, FileVersion(connection));
  for (size_t i = 0; i < tables_.size(); ++i) {
    const TableSql& table = tables_[i];
    if (IsAbsent(static_cast<TableId>(i))) continue;
    AGENTFS_TRY(
        connection.Prepare(IdOf(static_cast<TableId>(i), kGet), [&] { return table.Get(); }));
  }
  return Ok();
}

Result<void> SqliteStore::StartWriting(FileState state) {
  AGENTFS_ASSIGN(writer_, Connection::Open(file_, Access::kReadWrite, state != FileState::kOurs));
  KeepShmInPlace(file_);
  if (sqlite3_db_readonly(writer_->db(), "main") == 1) {
    const int code = ::access(file_.c_str(), W_OK) == 0 ? EROFS : errno;
    return Error(code == EACCES ? EACCES : EROFS,
                 "cannot open '" + file_ + "' for writing: it is read-only",
                 "make the file and its directory writable, or open it read-only");
  }
  sqlite3* db = writer_->db();
  // A file that turns out not to fit must not be changed by closing it.
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // A making that was cut off is rolled back to nothing when the file is first read.
  AGENTFS_ASSIGN(const int64_t pages, writer_->QueryInt("PRAGMA page_count"));
  if (state != FileState::kOurs || pages == 0) AGENTFS_TRY(CreateTables());
  AGENTFS_ASSIGN(const uint32_t found, FileVersion(*writer_));
  if (found < schema_.version) AGENTFS_TRY(AddTables(found));
  AGENTFS_TRY(CheckTables(*writer_));
  AGENTFS_ASSIGN(page_size_, writer_->QueryInt("PRAGMA page_size"));
  AGENTFS_ASSIGN(const std::string mode, writer_->QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Error(ENOTSUP, "cannot open '" + file_ + "': its filesystem has no shared memory maps",
                 "keep the file on a local filesystem");
  }
  wal_.emplace(writer_->db());
  // A read opens the WAL, for SyncWal.
  AGENTFS_TRY(writer_->QueryInt("SELECT count(*) FROM sqlite_schema"));
  AGENTFS_TRY(writer_->Execute("PRAGMA wal_autocheckpoint = 0", "open"));
  AGENTFS_TRY(writer_->Execute("PRAGMA journal_size_limit = 67108864", "open"));
  AGENTFS_TRY(writer_->Execute("PRAGMA secure_delete = OFF", "open"));
  AGENTFS_TRY(writer_->Execute("PRAGMA cache_size = -16384", "open"));
  AGENTFS_TRY(writer_->Execute("PRAGMA mmap_size = 2147418112", "open"));
  AGENTFS_TRY(SetDurability(Durability::kNone));
  PutViews(*writer_, schema_);
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  sqlite3_wal_hook(
      db,
      [](void* pages, sqlite3*, const char*, int count) {
        *static_cast<uint64_t*>(pages) = static_cast<uint64_t>(count);
        return SQLITE_OK;
      },
      &wal_pages_);
  return Ok();
}

Result<void> SqliteStore::Open(FileState state) {
  absl::MutexLock open_lock(&open_mu_);
  if (access_ == Access::kReadWrite) {
    absl::MutexLock lock(&commit_mu_);
    reserve_.emplace(file_ + kReserveSuffix);
    Result<void> started = StartWriting(state);
    if (started.code() == ENOSPC && reserve_->Lend()) {
      started = StartWriting(state);
      reserve_->Return();
    }
    AGENTFS_TRY(std::move(started));
    AGENTFS_ASSIGN(checkpointer_, Checkpointer::Start(file_, page_size_, &commit_mu_, &readers_));
  } else {
    AGENTFS_ASSIGN(auto reader, readers_.Take());
    AGENTFS_TRY(CheckTables(*reader.operator->()));
  }
  open_ = true;
  return Ok();
}

Result<std::optional<Row>> SqliteStore::Get(TableId table, std::string_view key) {
  AGENTFS_TRY(CheckTable(schema_, table));
  absl::ReaderMutexLock lock(&open_mu_);
  if (!open_) return Error(EBADF);
  if (IsAbsent(table)) return std::optional<Row>();
  const TableSql& sql = tables_[table];
  AGENTFS_ASSIGN(auto reader, readers_.Take());
  AGENTFS_ASSIGN(sqlite3_stmt * statement,
                 reader->Prepare(IdOf(table, kGet), [&] { return sql.Get(); }));
  const StatementReset reset(statement);
  AGENTFS_TRY(sql.BindKey(statement, key));
  const int code = sqlite3_step(statement);
  if (code == SQLITE_DONE) return std::optional<Row>();
  if (code != SQLITE_ROW) return reader->MakeError(code, "read");
  return std::optional<Row>(
      Row{std::string(key), sql.ReadValue(statement, 0), Buffer::Copy(sql.ReadBlob(statement, 0))});
}

Result<void> SqliteStore::Scan(const ScanRange& range, const Visitor& visit) {
  AGENTFS_TRY(CheckScan(schema_, range));
  absl::ReaderMutexLock lock(&open_mu_);
  if (!open_) return Error(EBADF);
  if (IsAbsent(range.table)) return Ok();
  const TableSql& sql = tables_[range.table];
  AGENTFS_ASSIGN(const ScanShape shape, sql.ShapeOf(range));
  AGENTFS_ASSIGN(auto reader, readers_.Take());
  AGENTFS_ASSIGN(sqlite3_stmt * statement, reader->Prepare(IdOf(range.table, kScan + shape.id()),
                                                           [&] { return sql.Scan(shape); }));
  const StatementReset reset(statement);
  AGENTFS_TRY(sql.BindScan(statement, range));
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    const std::string key = sql.ReadKey(statement);
    const std::string value = sql.ReadValue(statement, sql.key_columns());
    if (shape.in_pieces) {
      RowBlobReader blob(*reader, sql.table(), sql.ReadBlobPlace(statement, sql.key_columns()));
      if (visit(RowView{key, value, {}, nullptr, &blob}) == Visit::kStop) return Ok();
      continue;
    }
    const std::string_view blob = sql.ReadBlob(statement, sql.key_columns());
    if (visit(RowView{key, value, blob}) == Visit::kStop) return Ok();
  }
  if (code != SQLITE_DONE) return reader->MakeError(code, "read");
  return Ok();
}

Result<void> SqliteStore::ApplyOne(const Mutation& mutation) {
  AGENTFS_TRY(CheckMutation(schema_, layouts_, mutation));
  const TableSql& sql = tables_[mutation.table];
  const bool put = mutation.kind == Mutation::Kind::kPut;
  AGENTFS_ASSIGN(sqlite3_stmt * statement,
                 writer_->Prepare(IdOf(mutation.table, put ? kPut : kDelete),
                                  [&] { return put ? sql.Put() : sql.Delete(); }));
  const StatementReset reset(statement);
  AGENTFS_TRY(put ? sql.BindRow(statement, mutation) : sql.BindKey(statement, mutation.key));
  const int code = sqlite3_step(statement);
  if (code != SQLITE_DONE) return writer_->MakeError(code, "write to");
  return Ok();
}

Result<void> SqliteStore::Apply(const Batch& batch) {
  for (const Mutation& mutation : batch.mutations) AGENTFS_TRY(ApplyOne(mutation));
  return Ok();
}

Result<void> SqliteStore::SetDurability(Durability durability) {
  if (writer_durability_ == durability) return Ok();
  AGENTFS_TRY(writer_->Execute(durability == Durability::kSynced ? "PRAGMA synchronous = FULL"
                                                                 : "PRAGMA synchronous = NORMAL"));
  writer_durability_ = durability;
  return Ok();
}

Result<void> SqliteStore::SyncWal() {
  if (!unsynced_) return Ok();
  if (const int code = wal_->Sync(); code != SQLITE_OK) return writer_->MakeError(code, "sync");
  unsynced_ = false;
  return Ok();
}

Result<void> SqliteStore::CommitTransaction(Durability durability) {
  unsynced_ = true;
  AGENTFS_TRY(writer_->Execute("COMMIT", "commit to"));
  if (durability == Durability::kSynced) unsynced_ = false;
  return Ok();
}

Result<void> SqliteStore::Commit(const Batch& batch, Durability durability) {
  absl::ReaderMutexLock open_lock(&open_mu_);
  if (!open_) return Error(EBADF);
  if (access_ != Access::kReadWrite) {
    return Error(EROFS, "cannot write to '" + file_ + "': it is open read-only");
  }
  absl::MutexLock lock(&commit_mu_);
  if (batch.empty()) return durability == Durability::kSynced ? SyncWal() : Ok();
  Result<void> result = CommitBatch(batch, durability);
  if (result.code() == ENOSPC && checkpointer_->Empty()) result = CommitBatch(batch, durability);
  if (result.code() == ENOSPC && reserve_->Lend()) {
    (void)checkpointer_->Empty();
    result = CommitBatch(batch, durability);
    // What it took goes back to the reserve: it must be there for the next one, too.
    checkpointer_->CutOff();
    reserve_->Return();
  }
  return result;
}

Result<void> SqliteStore::CommitBatch(const Batch& batch, Durability durability) {
  AGENTFS_TRY(SetDurability(durability));
  AGENTFS_TRY(writer_->Execute("BEGIN IMMEDIATE", "write to"));
  if (durability == Durability::kSynced) wal_->MakeRoom(wal_pages_ * page_size_);
  Result<void> result = Apply(batch);
  if (result.ok()) result = CommitTransaction(durability);
  if (!result.ok()) {
    // After some errors SQLite has rolled back by itself.
    if (sqlite3_get_autocommit(writer_->db()) == 0) writer_->Execute("ROLLBACK").ok();
    return result;
  }
  readers_.Committed();
  checkpointer_->Notice(wal_pages_ * page_size_);
  return Ok();
}

Result<void> SqliteStore::EndWal() {
  SetDurability(Durability::kSynced).ok();
  const int code = sqlite3_wal_checkpoint_v2(writer_->db(), nullptr, SQLITE_CHECKPOINT_TRUNCATE,
                                             nullptr, nullptr);
  // Busy: another program reads; the WAL stays, with all that is in it.
  if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY) return Ok();
  return writer_->MakeError(code, "close");
}

Result<void> SqliteStore::Close() {
  absl::MutexLock open_lock(&open_mu_);
  if (!open_) return Ok();
  open_ = false;
  checkpointer_.reset();
  readers_.Clear();
  absl::MutexLock lock(&commit_mu_);
  if (!writer_) return Ok();
  Result<void> result = SyncWal();
  if (result.ok()) result = EndWal();
  if (result.code() == ENOSPC && reserve_->Lend()) result = EndWal();
  writer_.reset();
  reserve_.reset();
  return result;
}

Result<Store::Usage> SqliteStore::GetUsage() {
  absl::ReaderMutexLock lock(&open_mu_);
  if (!open_) return Error(EBADF);
  return Usage{.file_bytes = FileSize(file_) + FileSize(file_ + "-wal")};
}

Store::Room SqliteStore::GetRoom() {
  absl::ReaderMutexLock lock(&open_mu_);
  const auto stats = HostFsStats(file_);
  // Some filesystems do not tell.
  if (!open_ || !reserve_ || !stats.ok() || stats->blocks == 0) return {};
  Room room{.disk = AvailableBytes(*stats), .kept = DiskReserve::KeptOn(*stats)};
  room.disk += reserve_->Hold(*stats);
  if (room.disk >= kMuchRoom) return room;
  auto reader = readers_.Take();
  if (!reader.ok()) return room;
  const auto unused = (*reader)->QueryInt("PRAGMA freelist_count");
  if (unused.ok()) room.own = static_cast<uint64_t>(*unused) * page_size_;
  // Pages that are in the WAL will want a place in the file.
  const auto pages = (*reader)->QueryInt("PRAGMA page_count");
  const uint64_t wanted = pages.ok() ? static_cast<uint64_t>(*pages) * page_size_ : 0;
  const uint64_t size = FileSize(file_);
  if (wanted > size) room.disk -= std::min(room.disk, wanted - size);
  return room;
}

void SqliteStore::MakeRoom() {
  absl::ReaderMutexLock open_lock(&open_mu_);
  if (!open_ || access_ != Access::kReadWrite) return;
  absl::MutexLock lock(&commit_mu_);
  checkpointer_->CutOff();
}

Result<std::unique_ptr<Store>> OpenAs(const std::string& file, const Schema& schema, Access access,
                                      FileState state, uint32_t new_page_size = kPageSize) {
  auto store = std::make_unique<SqliteStore>(file, schema, access, new_page_size);
  AGENTFS_TRY(store->Open(state));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& file, const Schema& schema,
                                               const StoreOptions& options) {
  AGENTFS_ASSIGN(const FileState state, InspectFile(file, schema));
  if (state == FileState::kMissing && (options.read_only || !options.create)) {
    return Error(ENOENT, "cannot open '" + file + "': there is no such file");
  }
  if (!options.read_only) {
    return OpenAs(file, schema, Access::kReadWrite, state,
                  options.large_rows ? kLargeRowsPageSize : kPageSize);
  }
  if (state == FileState::kEmpty) {
    return Error(EINVAL, "cannot open '" + file + "': it is empty, and open read-only");
  }
  auto store = OpenAs(file, schema, Access::kReadOnly, state);
  // Where no lock files can be made nobody else writes; without a WAL the file is all there is.
  const bool no_locks = store.code() == EROFS || store.code() == EACCES || store.code() == EIO ||
                        store.code() == ENOENT;
  if (store.ok() || !no_locks || FileSize(file + "-wal") != 0) return store;
  return OpenAs(file, schema, Access::kImmutable, state);
}

}  // namespace agentfs
