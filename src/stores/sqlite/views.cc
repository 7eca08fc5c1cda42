// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/views.h"

#include <sqlite3.h>

#include <string>

#include "stores/sqlite/statement.h"

namespace agentfs {
namespace {

// The SQL that puts an object right if it is not.
Result<std::string> PutRight(Statement& found, const char* type, const NamedQuery& object,
                             const char* before) {
  const std::string name(object.name);
  const std::string wanted =
      std::string("CREATE ") + type + " " + name + before + std::string(object.sql);
  AGENTFS_ASSIGN(const bool same, found.BindText(1, name).BindText(2, wanted).Step());
  found.Reset();
  return same ? "" : std::string("DROP ") + type + " IF EXISTS " + name + ";" + wanted + ";";
}

Result<std::string> MissingViews(Connection& connection, const Schema& schema) {
  AGENTFS_ASSIGN(
      Statement found,
      Statement::Prepare(connection, "SELECT 1 FROM sqlite_schema WHERE name = ? AND sql = ?"));
  std::string sql;
  for (const NamedQuery& view : schema.views) {
    AGENTFS_ASSIGN(const std::string one, PutRight(found, "VIEW", view, " AS "));
    sql += one;
  }
  for (const NamedQuery& index : schema.indexes) {
    AGENTFS_ASSIGN(const std::string one, PutRight(found, "INDEX", index, " ON "));
    sql += one;
  }
  return sql;
}

}  // namespace

void PutViews(Connection& connection, const Schema& schema) {
  const auto sql = MissingViews(connection, schema);
  if (!sql.ok() || sql->empty()) return;
  const auto made =
      connection.Execute(("BEGIN IMMEDIATE;" + *sql + "COMMIT").c_str(), "name the queries of");
  if (!made.ok() && sqlite3_get_autocommit(connection.db()) == 0) {
    connection.Execute("ROLLBACK").ok();
  }
}

Result<bool> HasViews(Connection& connection, const Schema& schema) {
  AGENTFS_ASSIGN(const std::string missing, MissingViews(connection, schema));
  return missing.empty();
}

}  // namespace agentfs
