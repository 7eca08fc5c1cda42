// SPDX-License-Identifier: Apache-2.0
//
// Page-aligned memory for requests and answers.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "agentfs/result.h"

namespace agentfs::fuse {

inline constexpr size_t kPage = 4096;

// Its pages exist only once they have been used. Moving hands it over.
class PageBuffer {
 public:
  static Result<PageBuffer> Create(size_t size);

  PageBuffer(PageBuffer&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  PageBuffer& operator=(PageBuffer&&) = delete;
  ~PageBuffer();

  std::span<char> bytes() const { return bytes_; }

 private:
  explicit PageBuffer(std::span<char> bytes) : bytes_(bytes) {}
  std::span<char> bytes_;
};

}  // namespace agentfs::fuse
