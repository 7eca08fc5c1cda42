// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/connection.h"

#include <sqlite3.h>

#include <mutex>

#include "stores/sqlite/sqlite_error.h"

namespace agentfs {
namespace {

// How long to wait for another program's lock (a person's sqlite3 shell) before EBUSY.
constexpr int kBusyMilliseconds = 5000;

// Without it each allocation takes a lock that all connections share. Too late, and harmless, if
// the program has used SQLite before.
void ConfigureLibrary() {
  static std::once_flag once;
  std::call_once(once, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });
}

// A name that SQLite takes for nothing but a path.
std::string PlainName(const std::string& file) {
  return !file.empty() && file[0] == '/' ? file : "./" + file;
}

std::string ImmutableUri(const std::string& file) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : PlainName(file)) {
    if (c == '%' || c == '?' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& file, Access access,
                                                     bool create) {
  ConfigureLibrary();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (create) flags |= SQLITE_OPEN_CREATE;
  std::string name = PlainName(file);
  if (access == Access::kImmutable) {
    flags |= SQLITE_OPEN_URI;
    name = ImmutableUri(file);
  }
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &db, flags, nullptr);
  if (code != SQLITE_OK) {
    Error error = SqliteError(db, code, "open", file);
    sqlite3_close(db);
    return error;
  }
  sqlite3_busy_timeout(db, kBusyMilliseconds);
  return std::unique_ptr<Connection>(new Connection(db, file));
}

Connection::~Connection() {
  CloseBlob();
  for (const auto& [id, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Error Connection::MakeError(int code, const char* what) const {
  return SqliteError(db_, code, what, file_);
}

Result<void> Connection::Execute(const char* sql, const char* what) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return MakeError(code, what);
  return Ok();
}

Result<sqlite3_stmt*> Connection::PrepareNew(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return MakeError(code, "use the tables of");
  return statement;
}

Result<int64_t> Connection::QueryInt(const char* sql) {
  AGENTFS_ASSIGN(std::string text, QueryText(sql));
  return static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
}

Result<std::string> Connection::QueryText(const char* sql) {
  AGENTFS_ASSIGN(sqlite3_stmt * statement, PrepareNew(sql));
  const int code = sqlite3_step(statement);
  Result<std::string> result = std::string();
  if (code == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    result = std::string(text != nullptr ? text : "");
  } else {
    result = MakeError(code == SQLITE_DONE ? SQLITE_CORRUPT : code, "read");
  }
  sqlite3_finalize(statement);
  return result;
}

Result<sqlite3_stmt*> Connection::Prepare(uint32_t id,
                                          const std::function<std::string()>& make_sql) {
  if (const auto it = statements_.find(id); it != statements_.end()) return it->second;
  AGENTFS_ASSIGN(sqlite3_stmt * statement, PrepareNew(make_sql()));
  statements_.emplace(id, statement);
  return statement;
}

Result<sqlite3_blob*> Connection::OpenBlob(const std::string& table, const std::string& column,
                                           int64_t rowid) {
  if (blob_ != nullptr && blob_table_ != table) CloseBlob();
  const int code = blob_ != nullptr ? sqlite3_blob_reopen(blob_, rowid)
                                    : sqlite3_blob_open(db_, "main", table.c_str(), column.c_str(),
                                                        rowid, 0, &blob_);
  if (code != SQLITE_OK) {
    Error error = MakeError(code, "read");
    CloseBlob();
    return error;
  }
  blob_table_ = table;
  return blob_;
}

void Connection::CloseBlob() {
  sqlite3_blob_close(blob_);
  blob_ = nullptr;
}

StatementReset::~StatementReset() { sqlite3_reset(statement_); }

}  // namespace agentfs
