// SPDX-License-Identifier: Apache-2.0
//
// The table seam. A Store keeps rows of the tables that a Schema declares, ordered by key, and
// commits batches of changes atomically and in order. It knows nothing of filesystems.
//
// A row travels in one encoding for all stores (src/store/codec.h writes and reads it):
//   key    the key columns in order-preserving form: comparing bytes compares the columns;
//   value  the small value columns, packed;
//   blob   at most one large value column (Schema: the last, of type kBlob), kept apart so that it
//          need not be copied.
// Key-value stores keep these bytes; SQL stores unpack them into real columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentfs/buffer.h"
#include "agentfs/inline_bytes.h"
#include "agentfs/result.h"

namespace agentfs {

enum class ColumnType : uint8_t {
  kInt,   // unsigned, at most 2^63 - 1 in a key; signed in a value
  kText,  // bytes that people read: names, paths; may be any bytes, not only UTF-8
  kBlob,  // bytes
};

struct Column {
  std::string_view name;
  ColumnType type;
};

// A table, declared as data. `blob` names the large value column and is empty if there is none.
struct Table {
  std::string_view name;
  std::span<const Column> key;
  std::span<const Column> value;
  std::string_view blob;
  // A second order: the rows sorted by this key column (a kInt column) first, then by the key.
  // Empty: none.
  std::string_view index;
  uint32_t since = 0;  // the version of the schema that the table came with
};

// A query over the tables that stores with SQL keep under a name, for people who ask. It is
// derived: it has no version, and opening a file for writing puts it in place.
struct NamedQuery {
  std::string_view name;
  std::string_view sql;
};

// A file of an older version, down to `oldest`, lacks the tables that came since, and nothing else
// differs: opened for writing it is brought to `version` in one transaction; opened read-only it
// stays as it is, and those tables are empty.
struct Schema {
  std::span<const Table> tables;  // a TableId is the position in here
  uint32_t version;
  uint32_t oldest = version;
  std::span<const NamedQuery> views = {};
  std::span<const NamedQuery> indexes = {};  // for the views: "table (column, ...)"
};

using TableId = uint8_t;

// A blob that its store has not fetched; valid as long as its RowView.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  virtual size_t size() const = 0;
  // Fills `out` from `offset` on; the range must lie within size().
  virtual Result<void> Read(size_t offset, std::span<char> out) = 0;
};

// One row as a store hands it out; valid only during the call that receives it.
struct RowView {
  std::string_view key;
  std::string_view value;
  std::string_view blob;
  // Set where the store holds the blob as a Buffer; null otherwise.
  const Buffer* shared_blob = nullptr;
  // Set, and `blob` empty, where the scan asked for BlobAccess::kInPieces and the store can.
  BlobReader* blob_reader = nullptr;

  // The blob as a Buffer: shared where possible, else copied.
  Buffer TakeBlob() const { return shared_blob ? *shared_blob : Buffer::Copy(blob); }
  // A part of the blob, however the store gives it; the range must lie within BlobSize().
  size_t BlobSize() const { return blob_reader ? blob_reader->size() : blob.size(); }
  Result<void> ReadBlob(size_t offset, std::span<char> out) const {
    if (blob_reader) return blob_reader->Read(offset, out);
    if (!out.empty()) std::memcpy(out.data(), blob.data() + offset, out.size());
    return Ok();
  }
};

struct Row {
  std::string key;
  std::string value;
  Buffer blob;
};

// The sizes that the rows of most nodes, entries and chunks have.
using RowKey = InlineBytes<40>;
using RowValue = InlineBytes<88>;

// One change of one row.
struct Mutation {
  enum class Kind : uint8_t { kPut, kDelete };
  TableId table = 0;
  Kind kind = Kind::kPut;
  RowKey key;
  RowValue value;
  Buffer blob;
};

// Mutations in order. References to them stay valid while more are added.
class MutationList {
 public:
  MutationList() = default;
  MutationList(MutationList&& other) noexcept
      : blocks_(std::move(other.blocks_)), size_(std::exchange(other.size_, 0)) {}
  MutationList& operator=(MutationList&& other) noexcept {
    blocks_ = std::move(other.blocks_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  Mutation& Add() {
    if (blocks_.empty() || blocks_.back().used == blocks_.back().capacity) AddBlock();
    ++size_;
    Block& block = blocks_.back();
    return block.mutations[block.used++];
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Mutation& front() { return *begin(); }
  const Mutation& front() const { return *begin(); }

  template <typename T>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Mutation;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;
    Iterator() = default;
    Iterator(const MutationList* list, size_t block) : list_(list), block_(block) {}
    T& operator*() const { return list_->blocks_[block_].mutations[at_]; }
    T* operator->() const { return &**this; }
    Iterator& operator++() {
      if (++at_ == list_->blocks_[block_].used) {
        ++block_;
        at_ = 0;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const MutationList* list_ = nullptr;
    size_t block_ = 0, at_ = 0;
  };
  Iterator<Mutation> begin() { return {this, 0}; }
  Iterator<Mutation> end() { return {this, blocks_.size()}; }
  Iterator<const Mutation> begin() const { return {this, 0}; }
  Iterator<const Mutation> end() const { return {this, blocks_.size()}; }

 private:
  // None is empty.
  struct Block {
    std::unique_ptr<Mutation[]> mutations;
    uint32_t used = 0, capacity = 0;
  };
  void AddBlock();

  std::vector<Block> blocks_;
  size_t size_ = 0;
};

// Changes that become visible and durable together, applied in order: of two changes of one key
// the later wins. References to elements stay valid while elements are added.
struct Batch {
  MutationList mutations;
  uint64_t bytes = 0;  // an estimate of the memory held, maintained by the functions below

  Mutation& Put(TableId table, std::string_view key, std::string_view value, Buffer blob = {});
  Mutation& Delete(TableId table, std::string_view key);
  bool empty() const { return mutations.empty(); }
};

enum class Durability : uint8_t {
  kNone,    // survives a crash of the process, not necessarily of the machine
  kSynced,  // on stable storage, with all earlier batches, when Commit returns
};

enum class Order : uint8_t { kAscending, kDescending };
enum class Visit : uint8_t { kContinue, kStop };
// kInPieces: the visitor reads what it needs of a large blob, straight to where it wants it.
enum class BlobAccess : uint8_t { kWhole, kInPieces };

// Which rows to visit. `prefix` is the encoding of the first key columns, complete columns only
// (empty: the whole table). The next key column may be bounded, both ends included, each encoded
// as that column alone. With `by_index` the key is (index column, key columns without it).
struct ScanRange {
  TableId table = 0;
  std::string_view prefix = {};
  std::optional<std::string_view> lower = std::nullopt;
  std::optional<std::string_view> upper = std::nullopt;
  Order order = Order::kAscending;
  bool by_index = false;
  BlobAccess blobs = BlobAccess::kWhole;
};

struct StoreCapabilities {
  std::string_view name = {};  // "memory", "sqlite", "lmdb"
  bool durable = false;        // survives the process
  bool always_synced = false;  // kNone, too, reaches stable storage
  bool sql = false;            // the tables can be queried with SQL
  bool single_file = false;
};

// Thread-safe. Any number of threads may Get and Scan, at any time, also during a Commit, and see
// the last committed state (a Scan sees one state throughout). Commits run one at a time, in the
// order in which they are called. After an error the store is as it was before the call.
class Store {
 public:
  virtual ~Store() = default;

  // The row with exactly this key, or nullopt.
  virtual Result<std::optional<Row>> Get(TableId table, std::string_view key) = 0;

  // Calls `visit` for the rows of the range, in order, until it says kStop. The row given has the
  // table's own key encoding, also with by_index. `visit` must not call the store.
  using Visitor = std::function<Visit(const RowView&)>;
  virtual Result<void> Scan(const ScanRange& range, const Visitor& visit) = 0;

  // Applies all of the batch or nothing. With kSynced an empty batch makes all earlier ones
  // durable. ENOSPC, EROFS, EIO as the disk says.
  virtual Result<void> Commit(const Batch& batch, Durability durability) = 0;

  // Makes everything durable and releases the files; further calls give EBADF. Idempotent.
  virtual Result<void> Close() = 0;

  virtual StoreCapabilities capabilities() const = 0;

  // Bytes that the store keeps: in memory, spilled from memory to disk, in its files.
  struct Usage {
    uint64_t memory_bytes = 0;
    uint64_t spilled_bytes = 0;
    uint64_t file_bytes = 0;
  };
  virtual Result<Usage> GetUsage() = 0;

  // Bytes that the store can still take.
  struct Room {
    uint64_t disk = kUnlimited;  // on the disk, whoever takes them, with those kept
    uint64_t kept = 0;           // of them for commits that free space
    uint64_t own = 0;            // in its files, which need not grow for them

    static constexpr uint64_t kUnlimited = uint64_t{1} << 62;
  };
  // Unlimited where the store has no disk or cannot tell. Cheap enough for every commit.
  virtual Room GetRoom() { return {}; }
  // Gives back to the disk what it can without; may take its time.
  virtual void MakeRoom() {}
};

}  // namespace agentfs
