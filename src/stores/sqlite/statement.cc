// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/statement.h"

#include <sqlite3.h>

namespace agentfs {

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<Statement> Statement::Prepare(Connection& connection, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection.db(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return connection.MakeError(code, "use the tables of");
  return Statement(connection, statement);
}

Statement& Statement::Bind(int parameter, int64_t value) {
  sqlite3_bind_int64(get(), parameter, value);
  return *this;
}

Statement& Statement::BindText(int parameter, std::string_view text) {
  // A null pointer would bind NULL.
  sqlite3_bind_text64(get(), parameter, text.data() != nullptr ? text.data() : "", text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::BindBlob(int parameter, std::string_view bytes) {
  sqlite3_bind_blob64(get(), parameter, bytes.data() != nullptr ? bytes.data() : "", bytes.size(),
                      SQLITE_STATIC);
  return *this;
}

Statement& Statement::BindNull(int parameter) {
  sqlite3_bind_null(get(), parameter);
  return *this;
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->MakeError(code, "read or write");
}

Result<void> Statement::Run() {
  for (;;) {
    Result<bool> more = Step();
    if (more.ok() && *more) continue;
    Reset();
    if (!more.ok()) return more.error();
    return Ok();
  }
}

void Statement::Reset() { sqlite3_reset(get()); }

int Statement::columns() const { return sqlite3_column_count(get()); }

int Statement::type(int column) const { return sqlite3_column_type(get(), column); }

bool Statement::IsNull(int column) const { return type(column) == SQLITE_NULL; }

int64_t Statement::Int(int column) const { return sqlite3_column_int64(get(), column); }

std::string_view Statement::Bytes(int column) const {
  // A text read as a blob keeps its bytes, whatever its encoding claims.
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(get(), column));
  return {bytes != nullptr ? bytes : "", static_cast<size_t>(sqlite3_column_bytes(get(), column))};
}

}  // namespace agentfs
