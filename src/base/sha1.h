// SPDX-License-Identifier: Apache-2.0
//
// SHA-1, piece by piece: git names contents by it, and libgit2 only hashes what is whole in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agentfs {

class Sha1 {
 public:
  void Add(std::string_view bytes);
  // 40 hexadecimal digits; nothing may be added afterwards.
  std::string Hex();

 private:
  void AddBlock(const unsigned char* block);

  std::array<uint32_t, 5> state_ = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::array<unsigned char, 64> block_ = {};
  size_t used_ = 0;      // of block_
  uint64_t length_ = 0;  // in bytes
};

}  // namespace agentfs
