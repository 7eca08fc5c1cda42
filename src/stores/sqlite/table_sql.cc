// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/table_sql.h"

#include <sqlite3.h>

#include <cstring>

#include "store/codec.h"

namespace agentfs {
namespace {

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

const char* TypeName(ColumnType type) {
  switch (type) {
    case ColumnType::kInt:
      return " INTEGER";
    case ColumnType::kText:
      return " TEXT";
    case ColumnType::kBlob:
      return " BLOB";
  }
  return "";
}

// Text with a NUL goes in as a BLOB: SQL functions would stop at the NUL, and such a value is not
// text for a person either.
void BindBytes(sqlite3_stmt* statement, int at, ColumnType type, std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  const bool text = type == ColumnType::kText && std::memchr(data, 0, bytes.size()) == nullptr;
  if (text) {
    sqlite3_bind_text64(statement, at, data, bytes.size(), SQLITE_STATIC, SQLITE_UTF8);
  } else {
    sqlite3_bind_blob64(statement, at, data, bytes.size(), SQLITE_STATIC);
  }
}

// Takes one key column off `in` and binds it; false if it is malformed.
bool BindKeyColumn(sqlite3_stmt* statement, int at, ColumnType type, std::string_view* in) {
  if (type == ColumnType::kInt) {
    KeyReader reader(*in);
    const uint64_t value = reader.Int();
    if (!reader.ok() || value >> 63 != 0) return false;
    in->remove_prefix(8);
    sqlite3_bind_int64(statement, at, static_cast<int64_t>(value));
    return true;
  }
  const size_t end = in->find('\0');
  if (end != std::string_view::npos && end + 1 < in->size() && (*in)[end + 1] == '\x01') {
    BindBytes(statement, at, type, in->substr(0, end));
    in->remove_prefix(end + 2);
    return true;
  }
  KeyReader reader(*in);
  const std::string bytes = reader.Bytes();
  if (!reader.ok() || type == ColumnType::kText) return false;
  *in = in->substr(KeyBytes(bytes).size());
  sqlite3_bind_blob64(statement, at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return true;
}

// The size of the column at the start of `in`, 0 if malformed.
size_t KeyColumnSize(ColumnType type, std::string_view in) {
  KeyReader reader(in);
  if (type == ColumnType::kInt) {
    reader.Int();
    return reader.ok() ? 8 : 0;
  }
  const std::string bytes = reader.Bytes();
  return reader.ok() ? KeyBytes(bytes).size() : 0;
}

std::string_view ColumnBytes(sqlite3_stmt* statement, int at) {
  const void* data = sqlite3_column_blob(statement, at);
  return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(statement, at))};
}

}  // namespace

TableSql::TableSql(const Table& table) : table_(table) {
  while (index_column_ < table.key.size() && table.key[index_column_].name != table.index) {
    ++index_column_;
  }
}

Error TableSql::Malformed(std::string_view what) const {
  return Error(EINVAL, "table '" + std::string(table_.name) + "': malformed " + std::string(what));
}

const Column& TableSql::ScanColumn(const ScanShape& shape, size_t i) const {
  if (!shape.by_index || i > index_column_) return table_.key[i];
  return table_.key[i == 0 ? index_column_ : i - 1];
}

bool TableSql::KeyIsRowid() const {
  return table_.key.size() == 1 && table_.key[0].type == ColumnType::kInt;
}

std::string TableSql::KeyList(bool by_index, std::string_view after_each) const {
  std::string list;
  for (size_t i = 0; i < table_.key.size(); ++i) {
    if (i > 0) list += ", ";
    list += Quoted(ScanColumn({.by_index = by_index}, i).name);
    list += after_each;
  }
  return list;
}

std::string TableSql::ValueList(BlobAccess blobs) const {
  std::string list;
  for (const Column& column : table_.value) list += ", " + Quoted(column.name);
  if (blobs == BlobAccess::kInPieces) {
    list += ", rowid, length(" + Quoted(table_.blob) + ")";
  } else if (!table_.blob.empty()) {
    list += ", " + Quoted(table_.blob);
  }
  return list.empty() ? list : list.substr(2);
}

std::string TableSql::Create() const {
  std::string sql = "CREATE TABLE " + Quoted(table_.name) + " (";
  for (const Column& column : table_.key) sql += Quoted(column.name) + TypeName(column.type) + ", ";
  for (const Column& column : table_.value) {
    sql += Quoted(column.name) + TypeName(column.type) + ", ";
  }
  if (!table_.blob.empty()) sql += Quoted(table_.blob) + " BLOB, ";
  sql += "PRIMARY KEY (" + KeyList(false) + "))";
  return table_.blob.empty() && !KeyIsRowid() ? sql + " WITHOUT ROWID" : sql;
}

std::string TableSql::CreateIndex() const {
  if (table_.index.empty()) return {};
  return "CREATE INDEX " + Quoted(std::string(table_.name) + "_by_" + std::string(table_.index)) +
         " ON " + Quoted(table_.name) + " (" + KeyList(true) + ")";
}

std::string TableSql::CreateAll() const {
  const std::string index = CreateIndex();
  return Create() + ";" + (index.empty() ? index : index + ";");
}

std::string TableSql::Put() const {
  const std::string values = ValueList();
  std::string sql = "INSERT INTO " + Quoted(table_.name) + " (" + KeyList(false) +
                    (values.empty() ? "" : ", " + values) + ") VALUES (?";
  const size_t columns = table_.key.size() + table_.value.size() + (table_.blob.empty() ? 0 : 1);
  for (size_t i = 1; i < columns; ++i) sql += ", ?";
  sql += ") ON CONFLICT (" + KeyList(false) + ") DO ";
  // An update in place, not a REPLACE: the index has only key columns and stays as it is.
  std::string update;
  for (const Column& column : table_.value) {
    update += ", " + Quoted(column.name) + " = excluded." + Quoted(column.name);
  }
  if (!table_.blob.empty()) {
    update += ", " + Quoted(table_.blob) + " = excluded." + Quoted(table_.blob);
  }
  return sql + (update.empty() ? "NOTHING" : "UPDATE SET " + update.substr(2));
}

std::string TableSql::Delete() const {
  std::string sql = "DELETE FROM " + Quoted(table_.name) + " WHERE ";
  for (size_t i = 0; i < table_.key.size(); ++i) {
    sql += (i > 0 ? " AND " : "") + Quoted(table_.key[i].name) + " = ?";
  }
  return sql;
}

std::string TableSql::Get() const {
  const std::string values = ValueList();
  std::string sql = "SELECT " + (values.empty() ? "1" : values) + " FROM " + Quoted(table_.name);
  for (size_t i = 0; i < table_.key.size(); ++i) {
    sql += (i > 0 ? " AND " : " WHERE ") + Quoted(table_.key[i].name) + " = ?";
  }
  return sql;
}

std::string TableSql::Scan(const ScanShape& shape) const {
  const std::string values =
      ValueList(shape.in_pieces ? BlobAccess::kInPieces : BlobAccess::kWhole);
  std::string sql = "SELECT " + KeyList(false) + (values.empty() ? "" : ", " + values) + " FROM " +
                    Quoted(table_.name);
  // Never a sort: rows come in the order of a tree.
  if (shape.by_index) {
    sql += " INDEXED BY " + Quoted(std::string(table_.name) + "_by_" + std::string(table_.index));
  } else if (!table_.blob.empty() && !KeyIsRowid()) {
    sql += " INDEXED BY " + Quoted("sqlite_autoindex_" + std::string(table_.name) + "_1");
  }
  std::string where;
  for (size_t i = 0; i < shape.prefix_columns; ++i) {
    where += " AND " + Quoted(ScanColumn(shape, i).name) + " = ?";
  }
  if (shape.lower || shape.upper) {
    const std::string next = Quoted(ScanColumn(shape, shape.prefix_columns).name);
    if (shape.lower) where += " AND " + next + " >= ?";
    if (shape.upper) where += " AND " + next + " <= ?";
  }
  if (!where.empty()) sql += " WHERE " + where.substr(5);
  return sql + " ORDER BY " + KeyList(shape.by_index, shape.descending ? " DESC" : "");
}

Result<ScanShape> TableSql::ShapeOf(const ScanRange& range) const {
  ScanShape shape{.lower = range.lower.has_value(),
                  .upper = range.upper.has_value(),
                  .descending = range.order == Order::kDescending,
                  .by_index = range.by_index,
                  .in_pieces = range.blobs == BlobAccess::kInPieces && !table_.blob.empty()};
  std::string_view rest = range.prefix;
  while (!rest.empty()) {
    if (shape.prefix_columns == table_.key.size()) return Malformed("prefix of a scan");
    const size_t size = KeyColumnSize(ScanColumn(shape, shape.prefix_columns).type, rest);
    if (size == 0) return Malformed("prefix of a scan");
    rest.remove_prefix(size);
    ++shape.prefix_columns;
  }
  if ((shape.lower || shape.upper) && shape.prefix_columns == table_.key.size()) {
    return Malformed("scan: bounds after a whole key");
  }
  return shape;
}

Result<void> TableSql::BindScan(sqlite3_stmt* statement, const ScanRange& range) const {
  AGENTFS_ASSIGN(const ScanShape shape, ShapeOf(range));
  int at = 1;
  std::string_view rest = range.prefix;
  for (size_t i = 0; i < shape.prefix_columns; ++i) {
    if (!BindKeyColumn(statement, at++, ScanColumn(shape, i).type, &rest)) {
      return Malformed("prefix of a scan");
    }
  }
  for (const auto& bound : {range.lower, range.upper}) {
    if (!bound) continue;
    std::string_view column = *bound;
    const ColumnType type = ScanColumn(shape, shape.prefix_columns).type;
    if (!BindKeyColumn(statement, at++, type, &column) || !column.empty()) {
      return Malformed("bound of a scan");
    }
  }
  return Ok();
}

Result<void> TableSql::BindKey(sqlite3_stmt* statement, std::string_view key) const {
  int at = 1;
  for (const Column& column : table_.key) {
    if (!BindKeyColumn(statement, at++, column.type, &key)) return Malformed("key");
  }
  if (!key.empty()) return Malformed("key");
  return Ok();
}

Result<void> TableSql::BindRow(sqlite3_stmt* statement, const Mutation& mutation) const {
  AGENTFS_TRY(BindKey(statement, mutation.key));
  int at = key_columns() + 1;
  ValueReader reader(mutation.value);
  for (const Column& column : table_.value) {
    if (column.type == ColumnType::kInt) {
      sqlite3_bind_int64(statement, at++, reader.Int());
    } else {
      BindBytes(statement, at++, column.type, reader.Bytes());
    }
  }
  if (!reader.ok() || !reader.AtEnd()) return Malformed("value");
  if (!table_.blob.empty()) {
    BindBytes(statement, at, ColumnType::kBlob, mutation.blob.view());
  }
  return Ok();
}

std::string TableSql::ReadKey(sqlite3_stmt* statement) const {
  KeyWriter key;
  for (int i = 0; i < key_columns(); ++i) {
    if (table_.key[i].type == ColumnType::kInt) {
      key.Int(static_cast<uint64_t>(sqlite3_column_int64(statement, i)));
    } else {
      key.Bytes(ColumnBytes(statement, i));
    }
  }
  return key.Take();
}

std::string TableSql::ReadValue(sqlite3_stmt* statement, int first) const {
  ValueWriter value;
  for (const Column& column : table_.value) {
    if (column.type == ColumnType::kInt) {
      value.Int(sqlite3_column_int64(statement, first++));
    } else {
      value.Bytes(ColumnBytes(statement, first++));
    }
  }
  return value.Take();
}

std::string_view TableSql::ReadBlob(sqlite3_stmt* statement, int first) const {
  if (table_.blob.empty()) return {};
  return ColumnBytes(statement, first + static_cast<int>(table_.value.size()));
}

TableSql::BlobPlace TableSql::ReadBlobPlace(sqlite3_stmt* statement, int first) const {
  const int at = first + static_cast<int>(table_.value.size());
  return {sqlite3_column_int64(statement, at),
          static_cast<size_t>(sqlite3_column_int64(statement, at + 1))};
}

}  // namespace agentfs
