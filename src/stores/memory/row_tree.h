// SPDX-License-Identifier: Apache-2.0
//
// The rows of one table in memory, in key order and, where the table has an index, in that order.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "agentfs/buffer.h"
#include "agentfs/store.h"
#include "stores/memory/row_arena.h"

namespace agentfs {

// One row in one allocation: this header, then the key, then the value.
struct StoredRow {
  Buffer blob;                // null if empty or spilled
  uint64_t spill_offset = 0;  // where the blob is in the spill file, if spill_size is not 0
  uint32_t spill_size = 0;
  uint32_t key_size = 0;
  uint32_t value_size = 0;
  uint32_t index_offset = 0;  // of the index column within the key

  std::string_view key() const { return {bytes(), key_size}; }
  std::string_view value() const { return {bytes() + key_size, value_size}; }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }

  struct Free {
    RowArena* arena = nullptr;
    void operator()(StoredRow* row) const;
  };
};
using StoredRowPtr = std::unique_ptr<StoredRow, StoredRow::Free>;
StoredRowPtr MakeStoredRow(RowArena& arena, std::string_view key, std::string_view value,
                           uint32_t index_offset);

// The first 8 bytes of a key as a number, short keys filled with zeros: decides most comparisons
// without touching the row.
inline uint64_t KeyHead(std::string_view key) {
  uint64_t head = 0;
  std::memcpy(&head, key.data(), key.size() < sizeof head ? key.size() : sizeof head);
  return __builtin_bswap64(head);
}

// Not thread-safe: the store locks.
class RowTree {
 public:
  // All its rows are of this arena, which outlives it.
  RowTree(RowArena& arena, bool has_index) : arena_(arena), has_index_(has_index) {}
  ~RowTree();
  RowTree(const RowTree&) = delete;
  RowTree& operator=(const RowTree&) = delete;

  const StoredRow* Find(std::string_view key) const;
  // Gives the row that was replaced or erased, or null. A run of calls with ascending keys costs
  // no search.
  StoredRowPtr Put(StoredRowPtr row);
  StoredRowPtr Erase(std::string_view key);

  // Rows of the range, until `visit` says kStop.
  using Visitor = absl::FunctionRef<Visit(const StoredRow&)>;
  void Scan(const ScanRange& range, Visitor visit) const;

 private:
  struct Slot {
    uint64_t head;
    mutable StoredRow* row;
  };
  struct KeyProbe {
    uint64_t head;
    std::string_view key;
  };
  // A key of the second order, or the start of one.
  struct IndexProbe {
    uint64_t head;
    std::string_view rest;
  };
  struct Less {
    using is_transparent = void;
    static int Compare(const Slot& a, std::string_view key) { return a.row->key().compare(key); }
    static int CompareRest(const StoredRow& row, std::string_view rest);
    bool operator()(const Slot& a, const Slot& b) const {
      return a.head != b.head ? a.head < b.head : Compare(a, b.row->key()) < 0;
    }
    bool operator()(const Slot& a, const KeyProbe& b) const {
      return a.head != b.head ? a.head < b.head : Compare(a, b.key) < 0;
    }
    bool operator()(const KeyProbe& a, const Slot& b) const {
      return a.head != b.head ? a.head < b.head : Compare(b, a.key) > 0;
    }
    bool operator()(const Slot& a, const IndexProbe& b) const {
      return a.head != b.head ? a.head < b.head : CompareRest(*a.row, b.rest) < 0;
    }
    bool operator()(const IndexProbe& a, const Slot& b) const {
      return a.head != b.head ? a.head < b.head : CompareRest(*b.row, a.rest) > 0;
    }
  };
  // In the second order the head is the index column, so that equal heads compare by key there
  // too: taking an equal column out of both keys does not change how they compare.
  using Tree = absl::btree_set<Slot, Less>;

  static uint64_t IndexHead(const StoredRow& row) {
    return KeyHead(row.key().substr(row.index_offset, 8));
  }
  static Tree::const_iterator LowerBound(const Tree& tree, std::string_view bound, bool by_index);

  RowArena& arena_;
  bool has_index_;
  Tree by_key_;
  Tree by_index_;
  // Where the last change was; valid while the trees are not changed otherwise.
  Tree::iterator key_hint_ = by_key_.end();
  Tree::iterator index_hint_ = by_index_.end();
};

}  // namespace agentfs
