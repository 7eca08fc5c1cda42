// SPDX-License-Identifier: Apache-2.0
//
// One SQLite connection with its prepared statements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "agentfs/result.h"

struct sqlite3;
struct sqlite3_blob;
struct sqlite3_stmt;

namespace agentfs {

// How to open the database.
enum class Access : uint8_t {
  kReadWrite,
  kReadOnly,
  kImmutable,  // read-only, on a medium where nobody can write and no lock files can be made
};

// Used by one thread at a time.
class Connection {
 public:
  // Opens, makes nothing unless `create`, and reads nothing yet.
  static Result<std::unique_ptr<Connection>> Open(const std::string& file, Access access,
                                                  bool create = false);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* db() const { return db_; }

  // Runs SQL that gives no rows. `what` completes "cannot ... 'FILE'" in the error.
  Result<void> Execute(const char* sql, const char* what = "change");
  // The first column of the first row as an integer or text; EBADMSG if there is no row.
  Result<int64_t> QueryInt(const char* sql);
  Result<std::string> QueryText(const char* sql);

  // The statement kept under `id`, reset, prepared with the SQL that `make_sql` gives the first
  // time. It belongs to the connection.
  Result<sqlite3_stmt*> Prepare(uint32_t id, const std::function<std::string()>& make_sql);

  // A blob of a row of a rowid table, to be read in pieces; valid until the next call. It keeps the
  // read transaction open: close it before that ends.
  Result<sqlite3_blob*> OpenBlob(const std::string& table, const std::string& column,
                                 int64_t rowid);
  void CloseBlob();

  Error MakeError(int code, const char* what) const;

 private:
  Connection(sqlite3* db, std::string file) : db_(db), file_(std::move(file)) {}
  Result<sqlite3_stmt*> PrepareNew(const std::string& sql);

  sqlite3* db_;
  std::string file_;
  // Going on to another row of the same table costs a third of opening.
  sqlite3_blob* blob_ = nullptr;
  std::string blob_table_;
  absl::flat_hash_map<uint32_t, sqlite3_stmt*> statements_;
};

// Resets a statement when the block ends, so that it holds no lock and no pointer to its bindings.
class StatementReset {
 public:
  explicit StatementReset(sqlite3_stmt* statement) : statement_(statement) {}
  ~StatementReset();
  StatementReset(const StatementReset&) = delete;
  StatementReset& operator=(const StatementReset&) = delete;

 private:
  sqlite3_stmt* statement_;
};

}  // namespace agentfs
