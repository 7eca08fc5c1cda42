// SPDX-License-Identifier: Apache-2.0
//
// What the stores share about keys: checking them against the schema, the key of the second
// order, and a ScanRange as a range of bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

// The shape of one table's keys. Immutable; the Schema's names must outlive it.
class KeyLayout {
 public:
  explicit KeyLayout(const Table& table);

  bool has_index() const { return index_column_ >= 0; }
  int index_column() const { return index_column_; }

  // EINVAL unless `key` is exactly one complete key: integers at most 2^63 - 1, and no NUL in
  // kText columns (SQL stores could not keep those as text that compares like these bytes).
  // Gives the offset of the index column's 8 bytes; 0 without an index.
  Result<size_t> Check(std::string_view key) const;

  // The key in the second order: the index column, then the other columns.
  static std::string IndexKey(std::string_view key, size_t index_offset);

 private:
  Error Malformed(std::string_view why) const;

  std::string_view table_;
  std::vector<Column> columns_;
  int index_column_ = -1;
};

std::vector<KeyLayout> MakeKeyLayouts(const Schema& schema);

// EINVAL unless the mutation fits the schema; the offset as KeyLayout::Check gives it.
Result<size_t> CheckMutation(const Schema& schema, const std::vector<KeyLayout>& layouts,
                             const Mutation& mutation);

// EINVAL for a table that the schema does not have, or by_index where there is no index.
Result<void> CheckTable(const Schema& schema, TableId table);
Result<void> CheckScan(const Schema& schema, const ScanRange& range);

// The keys k with begin <= k < end; without an end all from begin on.
struct KeyBounds {
  std::string begin;
  std::optional<std::string> end;
};
KeyBounds BoundsOf(const ScanRange& range);

}  // namespace agentfs
