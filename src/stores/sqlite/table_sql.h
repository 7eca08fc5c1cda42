// SPDX-License-Identifier: Apache-2.0
//
// The SQL of a table, and its rows as parameters and result columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "agentfs/store.h"

struct sqlite3_stmt;

namespace agentfs {

// What a scan's SQL depends on.
struct ScanShape {
  uint8_t prefix_columns = 0;
  bool lower = false;
  bool upper = false;
  bool descending = false;
  bool by_index = false;
  bool in_pieces = false;  // the blob is not fetched

  // Differs between shapes; below 2^12.
  uint32_t id() const {
    return uint32_t{prefix_columns} << 5 | uint32_t{lower} << 4 | uint32_t{upper} << 3 |
           uint32_t{descending} << 2 | uint32_t{by_index} << 1 | uint32_t{in_pieces};
  }
};

// Immutable; the Table must outlive it.
//
// A table with a blob keeps its rows by rowid, with its primary key as an index beside: in a
// WITHOUT ROWID table a row over a quarter of a page goes to pages of its own and long rows do not
// fill their last page (measured with 64 KiB blobs: reads a third as fast, writes 0.85x). One
// whose key is a single integer has that as its rowid. All others are WITHOUT ROWID. Either way one
// tree, in key order; files of version 2 have WITHOUT ROWID for integer keys too, which reads
// alike.
class TableSql {
 public:
  explicit TableSql(const Table& table);

  std::string Create() const;
  std::string CreateIndex() const;  // empty if the table has no index
  std::string CreateAll() const;    // both, as complete statements
  std::string Put() const;          // parameters: key columns, value columns, blob
  std::string Delete() const;       // parameters: key columns
  std::string Get() const;          // parameters: key columns; gives value columns, blob
  // Parameters: prefix columns, lower, upper; gives key columns, value columns, blob (in pieces:
  // the rowid and the blob's size).
  std::string Scan(const ScanShape& shape) const;

  // EINVAL unless prefix and bounds are complete columns.
  Result<ScanShape> ShapeOf(const ScanRange& range) const;
  Result<void> BindScan(sqlite3_stmt* statement, const ScanRange& range) const;
  // The bytes given are not copied: they must stay until the statement is reset.
  Result<void> BindKey(sqlite3_stmt* statement, std::string_view key) const;
  Result<void> BindRow(sqlite3_stmt* statement, const Mutation& mutation) const;

  // Reads result columns from `first` on.
  std::string ReadKey(sqlite3_stmt* statement) const;
  std::string ReadValue(sqlite3_stmt* statement, int first) const;
  std::string_view ReadBlob(sqlite3_stmt* statement, int first) const;
  // Of a scan in pieces.
  struct BlobPlace {
    int64_t rowid;
    size_t size;
  };
  BlobPlace ReadBlobPlace(sqlite3_stmt* statement, int first) const;
  const Table& table() const { return table_; }
  int key_columns() const { return static_cast<int>(table_.key.size()); }

 private:
  // A single integer key is the rowid itself, without an index beside.
  bool KeyIsRowid() const;
  // The key columns in the order of the scan.
  const Column& ScanColumn(const ScanShape& shape, size_t i) const;
  std::string KeyList(bool by_index, std::string_view after_each = {}) const;
  std::string ValueList(BlobAccess blobs = BlobAccess::kWhole) const;
  Error Malformed(std::string_view what) const;

  const Table& table_;
  size_t index_column_ = 0;
};

}  // namespace agentfs
