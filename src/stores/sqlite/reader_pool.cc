// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/reader_pool.h"

#include <sqlite3.h>

#include <utility>

namespace agentfs {
namespace {

constexpr size_t kMaxIdle = 16;
constexpr uint32_t kBegin = 0xffff'fff0;
constexpr uint32_t kEnd = 0xffff'fff1;

Result<void> Step(Connection& connection, uint32_t id, const char* sql) {
  AGENTFS_ASSIGN(sqlite3_stmt * statement, connection.Prepare(id, [&] { return sql; }));
  const int code = sqlite3_step(statement);
  const StatementReset reset(statement);
  if (code != SQLITE_DONE) return connection.MakeError(code, "read");
  return Ok();
}

}  // namespace

Result<std::unique_ptr<Connection>> ReaderPool::OpenConnection() const {
  // Writers need the same: a read-only connection could not recover the WAL of a crashed process.
  AGENTFS_ASSIGN(auto connection, Connection::Open(file_, access_));
  AGENTFS_TRY(connection->Execute("PRAGMA query_only = ON", "open"));
  // Pages come from the mapped file; the cache is for those still in the WAL.
  AGENTFS_TRY(connection->Execute("PRAGMA mmap_size = 2147418112", "open"));
  AGENTFS_TRY(connection->Execute("PRAGMA cache_size = -4096", "open"));
  return connection;
}

void ReaderPool::EndTransaction(Reader* reader) {
  if (!reader->in_transaction) return;
  reader->in_transaction = false;
  reader->connection->CloseBlob();
  if (!Step(*reader->connection, kEnd, "COMMIT").ok()) reader->connection.reset();
}

Result<void> ReaderPool::Refresh(Reader* reader) {
  const uint64_t commits = commits_.load(std::memory_order_acquire);
  if (reader->in_transaction && reader->commits == commits) return Ok();
  EndTransaction(reader);
  if (!reader->connection) {
    AGENTFS_ASSIGN(reader->connection, OpenConnection());
  }
  AGENTFS_TRY(Step(*reader->connection, kBegin, "BEGIN"));
  reader->in_transaction = true;
  reader->commits = commits;
  return Ok();
}

Result<ReaderPool::Lease> ReaderPool::Take() {
  Reader reader;
  {
    absl::MutexLock lock(&mu_);
    if (!idle_.empty()) {
      reader = std::move(idle_.back());
      idle_.pop_back();
    }
    if (!reader.in_transaction) reader.generation = generation_;
  }
  AGENTFS_TRY(Refresh(&reader));
  return Lease(this, std::move(reader));
}

void ReaderPool::Return(Reader reader) {
  bool end = writers_ == Writers::kShared;
  if (!end) {
    absl::MutexLock lock(&mu_);
    // EndIdle() passed meanwhile and is waiting for this one.
    end = reader.generation != generation_;
    if (!end && idle_.size() < kMaxIdle) idle_.push_back(std::move(reader));
  }
  if (!end) return;
  EndTransaction(&reader);
  if (!reader.connection) return;
  absl::MutexLock lock(&mu_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(reader));
}

void ReaderPool::EndIdle() {
  std::vector<Reader> idle;
  {
    absl::MutexLock lock(&mu_);
    ++generation_;
    idle.swap(idle_);
  }
  for (Reader& reader : idle) EndTransaction(&reader);
  absl::MutexLock lock(&mu_);
  for (Reader& reader : idle) {
    if (reader.connection && idle_.size() < kMaxIdle) idle_.push_back(std::move(reader));
  }
}

void ReaderPool::Clear() {
  std::vector<Reader> idle;
  absl::MutexLock lock(&mu_);
  idle.swap(idle_);
  // The connections close here, each with its transaction.
}

}  // namespace agentfs
