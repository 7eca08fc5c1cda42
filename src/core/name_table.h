// SPDX-License-Identifier: Apache-2.0
//
// The names of a directory, by hash. Made for directories of which only a few
// lines are in the processor's cache: a look-up touches one line of the table
// and the entry that it is looking for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "agentfs/filesystem.h"
#include "agentfs/ids.h"

namespace agentfs {

// One name. Node 0 is a whiteout: the name does not exist, whatever the base
// says.
class NameEntry {
 public:
  static NameEntry* Make(std::string_view name);
  static void Destroy(NameEntry* entry);

  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), length_}; }
  NodeId node_id() const { return node ? node->id() : id; }
  bool IsWhiteout() const { return !node && !id; }

  // When the layers took the name from the base, in milliseconds; 0: the base had none.
  int64_t since_ms() const {
    const int64_t since = int64_t{since_high_} << 32 | since_low_;
    return since == 0 ? 0 : since + kFirstYear;
  }
  void SetSince(int64_t ms) {
    const int64_t since = ms > kFirstYear ? ms - kFirstYear : 0;
    since_low_ = static_cast<uint32_t>(since);
    since_high_ = static_cast<uint8_t>(since >> 32);
  }

  NodeRef node;   // the node, if it is in memory
  NodeId id;      // its id (0: a whiteout)
  LayerId layer;  // of the row

 private:
  static constexpr int64_t kFirstYear = 1'577'836'800'000;  // 2020, so that 40 bits will do
  uint32_t since_low_ = 0;
  uint8_t since_high_ = 0;

 public:
  uint8_t type = 0;      // the S_IFMT bits, shifted right by 12
  bool shadows = false;  // an older row or the base has the name: removing it
                         // takes a whiteout

 private:
  explicit NameEntry(uint8_t length) : length_(length) {}
  ~NameEntry() = default;
  uint8_t length_;
};

static_assert(sizeof(NameEntry) == 32);

// Does not own the entries. Open addressing; a slot is an entry's address with
// 16 bits of its name's hash above it, so that other entries are hardly ever
// looked at.
class NameTable {
 public:
  NameEntry* Find(std::string_view name) const;
  // The name must not be there.
  void Insert(NameEntry* entry);
  // The entry must be there.
  void Erase(const NameEntry* entry);
  void Clear();
  size_t size() const { return size_; }

  class Iterator {
   public:
    using value_type = NameEntry*;
    Iterator(const uint64_t* at, const uint64_t* end) : at_(at), end_(end) { Skip(); }
    NameEntry* operator*() const { return EntryOf(*at_); }
    Iterator& operator++() {
      ++at_;
      Skip();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void Skip() {
      while (at_ != end_ && *at_ == 0) ++at_;
    }
    const uint64_t* at_;
    const uint64_t* end_;
  };
  Iterator begin() const { return {slots_.get(), slots_.get() + capacity_}; }
  Iterator end() const { return {slots_.get() + capacity_, slots_.get() + capacity_}; }

 private:
  static constexpr int kTagShift = 48;  // addresses of user space are below
  static NameEntry* EntryOf(uint64_t slot) {
    return reinterpret_cast<NameEntry*>(slot & ((uint64_t{1} << kTagShift) - 1));
  }
  static uint64_t Hash(std::string_view name);
  static uint64_t SlotOf(const NameEntry* entry, uint64_t hash) {
    return reinterpret_cast<uint64_t>(entry) | (hash >> kTagShift << kTagShift);
  }
  uint32_t Home(uint64_t hash) const {
    return static_cast<uint32_t>(((hash & 0xFFFFFFFF) * capacity_) >> 32);
  }
  uint32_t Next(uint32_t at) const { return at + 1 == capacity_ ? 0 : at + 1; }
  void Place(const NameEntry* entry);
  void Grow();

  std::unique_ptr<uint64_t[]> slots_;  // 0: empty
  uint32_t capacity_ = 0;
  uint32_t size_ = 0;
};

}  // namespace agentfs
