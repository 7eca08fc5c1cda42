// SPDX-License-Identifier: Apache-2.0
#include "cli/sql/query_sandbox.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>

#include "agentfs/stores.h"
#include "stores/sqlite/views.h"

namespace agentfs::cli {
namespace {

// Also what one step of a query can cost, between two looks at the clock.
constexpr int kMaxValueBytes = 16 << 20;
constexpr int kMaxSqlBytes = 1 << 20;
constexpr int kMaxPatternBytes = 1000;  // of LIKE and GLOB, which look at no clock
constexpr int kOpcodesBetweenChecks = 100;

// Functions that do more than compute.
constexpr std::array<std::string_view, 5> kDeniedFunctions = {
    "load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"};
// Pragmas that tell of tables, and change nothing whatever their argument is.
constexpr std::array<std::string_view, 9> kAllowedPragmas = {
    "table_info",  "table_xinfo",   "table_list",       "index_list",    "index_info",
    "index_xinfo", "function_list", "foreign_key_list", "collation_list"};
// Those that only tell if they have no argument.
constexpr std::array<std::string_view, 6> kAskingPragmas = {
    "user_version", "application_id", "page_size", "page_count", "encoding", "compile_options"};

template <typename Names>
bool Has(const Names& names, const char* name) {
  return name != nullptr && std::ranges::find(names, std::string_view(name)) != names.end();
}

bool IsAllowedPragma(const char* name, const char* argument) {
  return Has(kAllowedPragmas, name) || (argument == nullptr && Has(kAskingPragmas, name));
}

std::string BytesOf(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(row, column))};
}

SqlValue ValueOf(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(row, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(row, column);
    case SQLITE_TEXT:
      return BytesOf(row, column);
    case SQLITE_BLOB:
      return SqlBlob{BytesOf(row, column)};
    default:
      return std::monostate();
  }
}

uint64_t SizeOf(const SqlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->size();
  if (const auto* blob = std::get_if<SqlBlob>(&value)) return blob->bytes.size();
  return 0;
}

// "a", "a:1": a column's name once.
void AddColumn(std::vector<std::string>& columns, const char* name) {
  const std::string wanted = name != nullptr ? name : "";
  std::string unique = wanted;
  for (int n = 1; std::ranges::find(columns, unique) != columns.end(); ++n) {
    unique = wanted + ":" + std::to_string(n);
  }
  columns.push_back(unique);
}

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementPtr = std::unique_ptr<sqlite3_stmt, Finalizer>;

// As the store does: where no lock file can be made nobody writes.
Result<std::unique_ptr<Connection>> OpenToRead(const std::string& file) {
  AGENTFS_ASSIGN(auto database, Connection::Open(file, agentfs::Access::kReadOnly));
  const auto read = database->QueryInt("PRAGMA user_version");
  if (read.ok()) return database;
  const int code = read.code();
  if (code != EROFS && code != EACCES && code != EIO && code != ENOENT) return read.error();
  AGENTFS_ASSIGN(database, Connection::Open(file, agentfs::Access::kImmutable));
  AGENTFS_TRY(database->QueryInt("PRAGMA user_version"));
  return database;
}

}  // namespace

Result<std::unique_ptr<QuerySandbox>> QuerySandbox::Open(const std::string& file) {
  AGENTFS_ASSIGN(auto database, OpenToRead(file));
  std::unique_ptr<QuerySandbox> sandbox(new QuerySandbox(std::move(database)));
  AGENTFS_TRY(sandbox->Check());
  AGENTFS_TRY(sandbox->Confine());
  return sandbox;
}

QuerySandbox::~QuerySandbox() = default;

Result<void> QuerySandbox::Check() {
  AGENTFS_ASSIGN(const int64_t version, database_->QueryInt("PRAGMA user_version"));
  AGENTFS_ASSIGN(const bool complete, HasViews(*database_, VolumeSchema()));
  if (version == VolumeSchema().version && complete) return Ok();
  return Error(EPROTONOSUPPORT, "the database is not as this version of agentfs has it");
}

Result<void> QuerySandbox::Confine() {
  sqlite3* db = database_->db();
  AGENTFS_TRY(database_->Execute("PRAGMA query_only = ON", "read"));
  AGENTFS_TRY(database_->Execute("PRAGMA cell_size_check = ON", "read"));
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kMaxSqlBytes);
  sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMaxPatternBytes);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_set_authorizer(db, &Authorize, this);
  sqlite3_progress_handler(db, kOpcodesBetweenChecks, &CheckTime, this);
  return Ok();
}

int QuerySandbox::Authorize(void* self, int action, const char* first, const char* second,
                            const char* /*database*/, const char* /*inner*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_UPDATE:
      // So a table-valued function declares itself; the table itself nobody can update here.
      if (first != nullptr && std::string_view(first) == "sqlite_master") return SQLITE_OK;
      break;
    case SQLITE_FUNCTION:
      if (!Has(kDeniedFunctions, second)) return SQLITE_OK;
      break;
    case SQLITE_PRAGMA:
      if (IsAllowedPragma(first, second)) return SQLITE_OK;
      break;
    default:
      break;
  }
  auto& own = *static_cast<QuerySandbox*>(self);
  const char* what = action == SQLITE_FUNCTION ? second : first;
  if (own.denied_.empty() && what != nullptr) own.denied_ = what;
  return SQLITE_DENY;
}

int QuerySandbox::CheckTime(void* self) {
  const auto& own = *static_cast<const QuerySandbox*>(self);
  return std::chrono::steady_clock::now() >= own.deadline_ ? 1 : 0;
}

Error QuerySandbox::Failure(int code) const {
  const std::string why = sqlite3_errmsg(database_->db());
  switch (code & 0xff) {
    case SQLITE_INTERRUPT:
      return Error(ETIMEDOUT, "sql: the answer took too long",
                   "ask for less, or give it more time with --timeout");
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return Error(EROFS, "sql only reads the workspace: " + why +
                              (denied_.empty() ? "" : " (" + denied_.substr(0, 200) + ")"));
    case SQLITE_ERROR:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
      return Error(EINVAL, "sql: " + why,
                   "the views are files, changes, ops, paths, programs, execs, tool_calls, kv");
    default:
      return database_->MakeError(code, "read");
  }
}

Result<SqlAnswer> QuerySandbox::Fetch(sqlite3_stmt* statement, const SqlLimits& limits) {
  SqlAnswer answer;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) AddColumn(answer.columns, sqlite3_column_name(statement, i));
  uint64_t bytes = 0;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (answer.rows.size() >= limits.rows || bytes > limits.bytes) {
      answer.cut = true;
      return answer;
    }
    auto& row = answer.rows.emplace_back();
    row.reserve(static_cast<size_t>(columns));
    for (int i = 0; i < columns; ++i) bytes += SizeOf(row.emplace_back(ValueOf(statement, i)));
  }
  if (code != SQLITE_DONE) return Failure(code);
  return answer;
}

Result<SqlAnswer> QuerySandbox::Ask(std::string_view sql, const SqlLimits& limits) {
  denied_.clear();
  deadline_ = std::chrono::steady_clock::now() + limits.time;
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  int code =
      sqlite3_prepare_v2(database_->db(), sql.data(), static_cast<int>(sql.size()), &raw, &rest);
  const StatementPtr statement(raw);
  if (code != SQLITE_OK) return Failure(code);
  if (!statement) return Error(EINVAL, "sql: there is no statement");
  sqlite3_stmt* more = nullptr;
  const int left = static_cast<int>(sql.data() + sql.size() - rest);
  code = sqlite3_prepare_v2(database_->db(), rest, left, &more, nullptr);
  const StatementPtr second(more);
  if (code != SQLITE_OK || second) return Error(EINVAL, "sql: one statement at a time");
  if (sqlite3_stmt_readonly(raw) == 0) return Error(EROFS, "sql only reads the workspace");
  return Fetch(raw, limits);
}

}  // namespace agentfs::cli
