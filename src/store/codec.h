// SPDX-License-Identifier: Apache-2.0
//
// The one encoding of rows (see agentfs/store.h).
//   Key integers:  8 bytes, big-endian.
//   Key bytes:     0x00 becomes 0x00 0xFF, then the terminator 0x00 0x01: order-preserving, and a
//                  prefix of columns is a prefix of bytes.
//   Value integers: zigzag, 7 bits a byte, low first.
//   Value bytes:   length as such an integer, then the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

class KeyWriter {
 public:
  KeyWriter& Int(uint64_t value) {
    value = __builtin_bswap64(value);
    std::memcpy(out_.Extend(sizeof value), &value, sizeof value);
    return *this;
  }
  KeyWriter& Bytes(std::string_view bytes);
  std::string_view view() const { return out_.view(); }
  std::string Take() { return std::string(out_.view()); }
  RowKey TakeKey() { return std::move(out_); }

 private:
  RowKey out_;
};

// Collects in place: a row of a volume fits in the inline bytes.
class ValueWriter {
 public:
  ValueWriter() = default;
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;

  ValueWriter& Int(int64_t value) {
    if (sizeof inline_ - used_ < kMaxVarint) [[unlikely]]
      Spill();
    uint64_t bits = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    char* out = inline_ + used_;
    while (bits >= 0x80) {
      *out++ = static_cast<char>(bits | 0x80);
      bits >>= 7;
    }
    *out++ = static_cast<char>(bits);
    used_ = static_cast<size_t>(out - inline_);
    return *this;
  }
  ValueWriter& Bytes(std::string_view bytes);
  std::string Take();
  RowValue TakeValue();

 private:
  static constexpr size_t kMaxVarint = 10;
  void Spill();

  size_t used_ = 0;
  char inline_[224];
  std::string overflow_;  // what came before the bytes in inline_
};

// Readers never run past the end: after malformed input ok() is false and all reads give 0 or "".
class KeyReader {
 public:
  explicit KeyReader(std::string_view key) : in_(key) {}
  uint64_t Int();
  std::string Bytes();
  bool ok() const { return ok_; }
  bool AtEnd() const { return in_.empty(); }

 private:
  std::string_view in_;
  bool ok_ = true;
};

class ValueReader {
 public:
  explicit ValueReader(std::string_view value) : in_(value) {}
  int64_t Int();
  std::string_view Bytes();
  bool ok() const { return ok_; }
  bool AtEnd() const { return in_.empty(); }

 private:
  std::string_view in_;
  bool ok_ = true;
};

// The encoding of one key column alone, for ScanRange's bounds.
std::string KeyInt(uint64_t value);
std::string KeyBytes(std::string_view bytes);

}  // namespace agentfs
