// SPDX-License-Identifier: Apache-2.0
#include "store/key_layout.h"

#include <cstring>

namespace agentfs {
namespace {

// The first string that is greater than all strings with this prefix.
std::optional<std::string> AfterPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

// The encoded length of the bytes column at the start of `in`, 0 if malformed.
size_t BytesColumnSize(std::string_view in, bool nul_allowed) {
  size_t at = 0;
  while (at < in.size()) {
    const void* zero = std::memchr(in.data() + at, 0, in.size() - at);
    if (zero == nullptr) return 0;
    at = static_cast<const char*>(zero) - in.data() + 1;
    if (at >= in.size()) return 0;
    if (in[at] == '\x01') return at + 1;
    if (in[at] != '\xff' || !nul_allowed) return 0;
    ++at;
  }
  return 0;
}

}  // namespace

KeyLayout::KeyLayout(const Table& table)
    : table_(table.name), columns_(table.key.begin(), table.key.end()) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!table.index.empty() && columns_[i].name == table.index)
      index_column_ = static_cast<int>(i);
  }
}

Error KeyLayout::Malformed(std::string_view why) const {
  return Error(EINVAL, "key of table '" + std::string(table_) + "': " + std::string(why));
}

Result<size_t> KeyLayout::Check(std::string_view key) const {
  size_t at = 0;
  size_t index_offset = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (static_cast<int>(i) == index_column_) index_offset = at;
    if (columns_[i].type == ColumnType::kInt) {
      if (key.size() - at < 8) return Malformed("too short");
      if (static_cast<unsigned char>(key[at]) & 0x80) return Malformed("integer above 2^63 - 1");
      at += 8;
    } else {
      const size_t size = BytesColumnSize(key.substr(at), columns_[i].type == ColumnType::kBlob);
      if (size == 0) return Malformed("malformed bytes, or a NUL in text");
      at += size;
    }
  }
  if (at != key.size()) return Malformed("more bytes than its columns");
  return index_offset;
}

std::string KeyLayout::IndexKey(std::string_view key, size_t index_offset) {
  std::string out;
  out.reserve(key.size());
  out.append(key.substr(index_offset, 8));
  out.append(key.substr(0, index_offset));
  out.append(key.substr(index_offset + 8));
  return out;
}

std::vector<KeyLayout> MakeKeyLayouts(const Schema& schema) {
  std::vector<KeyLayout> layouts;
  layouts.reserve(schema.tables.size());
  for (const Table& table : schema.tables) layouts.emplace_back(table);
  return layouts;
}

Result<size_t> CheckMutation(const Schema& schema, const std::vector<KeyLayout>& layouts,
                             const Mutation& mutation) {
  AGENTFS_TRY(CheckTable(schema, mutation.table));
  const Table& table = schema.tables[mutation.table];
  if (mutation.blob.size() != 0 && table.blob.empty()) {
    return Error(EINVAL, "table '" + std::string(table.name) + "' has no blob column");
  }
  return layouts[mutation.table].Check(mutation.key);
}

Result<void> CheckTable(const Schema& schema, TableId table) {
  if (table < schema.tables.size()) return Ok();
  return Error(EINVAL, "the schema has no table number " + std::to_string(table));
}

Result<void> CheckScan(const Schema& schema, const ScanRange& range) {
  AGENTFS_TRY(CheckTable(schema, range.table));
  if (range.by_index && schema.tables[range.table].index.empty()) {
    return Error(EINVAL,
                 "table '" + std::string(schema.tables[range.table].name) + "' has no index");
  }
  return Ok();
}

KeyBounds BoundsOf(const ScanRange& range) {
  KeyBounds bounds{std::string(range.prefix), std::nullopt};
  if (range.lower) bounds.begin.append(*range.lower);
  std::string last(range.prefix);
  if (range.upper) last.append(*range.upper);
  bounds.end = AfterPrefix(std::move(last));
  return bounds;
}

}  // namespace agentfs
