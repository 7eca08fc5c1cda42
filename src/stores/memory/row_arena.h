// SPDX-License-Identifier: Apache-2.0
//
// Memory for rows: small pieces of many sizes, taken and given back by one thread at a time. The
// general allocator grows by a page at a time on the committer's thread, a system call for each.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace agentfs {

// Not thread-safe. What is given back is used again for pieces of the same size; all of it goes
// with the arena.
class RowArena {
 public:
  RowArena() = default;
  ~RowArena();
  RowArena(const RowArena&) = delete;
  RowArena& operator=(const RowArena&) = delete;

  void* Allocate(size_t size);
  // `size` as it was allocated.
  void Free(void* piece, size_t size);

 private:
  static constexpr size_t kStep = 16;      // sizes are rounded up to this
  static constexpr size_t kLargest = 512;  // above, the general allocator
  struct Piece {
    Piece* next;
  };
  void AddBlock();

  std::array<Piece*, kLargest / kStep + 1> free_{};
  char* next_ = nullptr;  // the unused rest of the last block
  char* end_ = nullptr;
  size_t block_size_ = 0;
  std::vector<void*> blocks_;
};

}  // namespace agentfs
