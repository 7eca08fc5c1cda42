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
#include <string>
#include <string_view>
#include <utility>

#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

class KeyWriter {
 public:
  KeyWriter& Int(uint64_t value);
  KeyWriter& Bytes(std::string_view bytes);
  const std::string& str() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Collects in place and allocates once, in Take: a row of a volume fits in the inline bytes.
class ValueWriter {
 public:
  ValueWriter() = default;
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;

  ValueWriter& Int(int64_t value);
  ValueWriter& Bytes(std::string_view bytes);
  std::string Take();

 private:
  void MakeRoom(size_t size);

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
