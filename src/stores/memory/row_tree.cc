// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/row_tree.h"

#include <new>

#include "store/key_layout.h"

namespace agentfs {

void StoredRow::Free::operator()(StoredRow* row) const {
  const size_t size = sizeof(StoredRow) + row->key_size + row->value_size;
  row->~StoredRow();
  arena->Free(row, size);
}

StoredRowPtr MakeStoredRow(RowArena& arena, std::string_view key, std::string_view value,
                           uint32_t index_offset) {
  void* memory = arena.Allocate(sizeof(StoredRow) + key.size() + value.size());
  StoredRowPtr row(new (memory) StoredRow, StoredRow::Free{&arena});
  row->key_size = static_cast<uint32_t>(key.size());
  row->value_size = static_cast<uint32_t>(value.size());
  row->index_offset = index_offset;
  char* bytes = const_cast<char*>(row->bytes());
  if (!key.empty()) std::memcpy(bytes, key.data(), key.size());
  if (!value.empty()) std::memcpy(bytes + key.size(), value.data(), value.size());
  return row;
}

int RowTree::Less::CompareRest(const StoredRow& row, std::string_view rest) {
  const std::string_view before = row.key().substr(0, row.index_offset);
  if (const int order = before.compare(rest.substr(0, before.size()))) return order;
  return row.key().substr(row.index_offset + 8).compare(rest.substr(before.size()));
}

RowTree::~RowTree() {
  for (const Slot& slot : by_key_) StoredRow::Free{&arena_}(slot.row);
}

const StoredRow* RowTree::Find(std::string_view key) const {
  const auto it = by_key_.find(KeyProbe{KeyHead(key), key});
  return it == by_key_.end() ? nullptr : it->row;
}

StoredRowPtr RowTree::Put(StoredRowPtr row) {
  StoredRow* const raw = row.release();
  const size_t before = by_key_.size();
  key_hint_ = by_key_.insert(key_hint_, Slot{KeyHead(raw->key()), raw});
  if (has_index_) {
    index_hint_ = by_index_.insert(index_hint_, Slot{IndexHead(*raw), raw});
    index_hint_->row = raw;
  }
  if (by_key_.size() != before) return nullptr;
  return StoredRowPtr(std::exchange(key_hint_->row, raw), StoredRow::Free{&arena_});
}

StoredRowPtr RowTree::Erase(std::string_view key) {
  const auto it = by_key_.find(KeyProbe{KeyHead(key), key});
  if (it == by_key_.end()) return nullptr;
  StoredRowPtr row(it->row, StoredRow::Free{&arena_});
  key_hint_ = by_key_.erase(it);
  if (has_index_) {
    index_hint_ = by_index_.erase(by_index_.find(Slot{IndexHead(*row), row.get()}));
  }
  return row;
}

RowTree::Tree::const_iterator RowTree::LowerBound(const Tree& tree, std::string_view bound,
                                                  bool by_index) {
  if (!by_index) return tree.lower_bound(KeyProbe{KeyHead(bound), bound});
  const std::string_view rest = bound.size() > 8 ? bound.substr(8) : std::string_view();
  return tree.lower_bound(IndexProbe{KeyHead(bound), rest});
}

void RowTree::Scan(const ScanRange& range, Visitor visit) const {
  const Tree& tree = range.by_index ? by_index_ : by_key_;
  const KeyBounds bounds = BoundsOf(range);
  if (bounds.end && *bounds.end <= bounds.begin) return;
  const auto end = bounds.end ? LowerBound(tree, *bounds.end, range.by_index) : tree.end();
  if (range.order == Order::kAscending) {
    for (auto it = LowerBound(tree, bounds.begin, range.by_index); it != end; ++it) {
      if (visit(*it->row) == Visit::kStop) return;
    }
    return;
  }
  // Descending: without searching for the begin, since most such scans stop at the first row.
  for (auto it = end; it != tree.begin();) {
    --it;
    const StoredRow& row = *it->row;
    const bool before_begin = range.by_index
                                  ? KeyLayout::IndexKey(row.key(), row.index_offset) < bounds.begin
                                  : row.key() < bounds.begin;
    if (before_begin || visit(row) == Visit::kStop) return;
  }
}

}  // namespace agentfs
