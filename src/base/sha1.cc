// SPDX-License-Identifier: Apache-2.0
#include "base/sha1.h"

#include <algorithm>
#include <bit>

namespace agentfs {

void Sha1::Add(std::string_view bytes) {
  length_ += bytes.size();
  while (!bytes.empty()) {
    const size_t part = std::min(bytes.size(), block_.size() - used_);
    std::copy_n(bytes.begin(), part, block_.begin() + used_);
    used_ += part;
    bytes.remove_prefix(part);
    if (used_ < block_.size()) return;
    AddBlock(block_.data());
    used_ = 0;
  }
}

void Sha1::AddBlock(const unsigned char* block) {
  std::array<uint32_t, 80> w;
  for (size_t i = 0; i < 16; ++i) {
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
           uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
  }
  for (size_t i = 16; i < 80; ++i) {
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  }
  auto [a, b, c, d, e] = state_;
  for (size_t i = 0; i < 80; ++i) {
    uint32_t mixed = b ^ c ^ d, constant = 0xCA62C1D6;
    if (i < 20) {
      mixed = (b & c) | (~b & d);
      constant = 0x5A827999;
    } else if (i < 40) {
      constant = 0x6ED9EBA1;
    } else if (i < 60) {
      mixed = (b & c) | (b & d) | (c & d);
      constant = 0x8F1BBCDC;
    }
    const uint32_t next = std::rotl(a, 5) + mixed + e + constant + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array<uint32_t, 5> turned = {a, b, c, d, e};
  for (size_t i = 0; i < 5; ++i) state_[i] += turned[i];
}

std::string Sha1::Hex() {
  const uint64_t bits = length_ * 8;
  Add(std::string_view("\x80", 1));
  while (used_ != 56) Add(std::string_view("\0", 1));
  std::string size;
  for (int shift = 56; shift >= 0; shift -= 8) size.push_back(static_cast<char>(bits >> shift));
  Add(size);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) hex.push_back(kDigits[(word >> shift) & 15]);
  }
  return hex;
}

}  // namespace agentfs
