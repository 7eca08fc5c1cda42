// SPDX-License-Identifier: Apache-2.0
#include "store/codec.h"

#include <cstring>

namespace agentfs {
namespace {

constexpr size_t kMaxVarint = 10;

// Gives the number of bytes read, 0 if there is no whole varint of at most 64 bits.
size_t GetVarint(std::string_view in, uint64_t* value) {
  uint64_t result = 0;
  const size_t limit = in.size() < kMaxVarint ? in.size() : kMaxVarint;
  for (size_t i = 0; i < limit; ++i) {
    const auto byte = static_cast<unsigned char>(in[i]);
    if (i == kMaxVarint - 1 && byte > 1) return 0;
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return i + 1;
    }
  }
  return 0;
}

}  // namespace

KeyWriter& KeyWriter::Bytes(std::string_view bytes) {
  for (;;) {
    const void* zero = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
    if (zero == nullptr) break;
    const size_t plain = static_cast<const char*>(zero) - bytes.data();
    out_.Append(bytes.substr(0, plain));
    out_.Append(std::string_view("\x00\xff", 2));
    bytes.remove_prefix(plain + 1);
  }
  out_.Append(bytes);
  out_.Append(std::string_view("\x00\x01", 2));
  return *this;
}

void ValueWriter::Spill() {
  overflow_.append(inline_, used_);
  used_ = 0;
}

ValueWriter& ValueWriter::Bytes(std::string_view bytes) {
  Int(static_cast<int64_t>(bytes.size()));
  if (bytes.size() > sizeof inline_ - used_) Spill();
  if (bytes.size() > sizeof inline_) {
    overflow_.append(bytes);
  } else if (!bytes.empty()) {
    std::memcpy(inline_ + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  return *this;
}

std::string ValueWriter::Take() {
  const size_t used = std::exchange(used_, 0);
  if (overflow_.empty()) return std::string(inline_, used);
  overflow_.append(inline_, used);
  return std::exchange(overflow_, std::string());
}

RowValue ValueWriter::TakeValue() {
  if (overflow_.empty()) return std::string_view(inline_, std::exchange(used_, 0));
  return Take();
}

uint64_t KeyReader::Int() {
  uint64_t value = 0;
  if (in_.size() < sizeof value) {
    ok_ = false;
    in_ = {};
    return 0;
  }
  std::memcpy(&value, in_.data(), sizeof value);
  in_.remove_prefix(sizeof value);
  return __builtin_bswap64(value);
}

std::string KeyReader::Bytes() {
  std::string out;
  while (!in_.empty()) {
    const void* zero = std::memchr(in_.data(), 0, in_.size());
    const size_t plain = zero ? static_cast<const char*>(zero) - in_.data() : in_.size();
    if (plain + 1 >= in_.size()) break;
    const char mark = in_[plain + 1];
    out.append(in_.substr(0, plain));
    in_.remove_prefix(plain + 2);
    if (mark == '\x01') return out;
    if (mark != '\xff') break;
    out.push_back('\0');
  }
  ok_ = false;
  in_ = {};
  return {};
}

int64_t ValueReader::Int() {
  uint64_t value = 0;
  const size_t size = GetVarint(in_, &value);
  if (size == 0) {
    ok_ = false;
    in_ = {};
    return 0;
  }
  in_.remove_prefix(size);
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

std::string_view ValueReader::Bytes() {
  const int64_t size = Int();
  if (size < 0 || static_cast<uint64_t>(size) > in_.size()) {
    ok_ = false;
    in_ = {};
    return {};
  }
  const std::string_view bytes = in_.substr(0, size);
  in_.remove_prefix(size);
  return bytes;
}

std::string KeyInt(uint64_t value) { return KeyWriter().Int(value).Take(); }

std::string KeyBytes(std::string_view bytes) { return KeyWriter().Bytes(bytes).Take(); }

}  // namespace agentfs
