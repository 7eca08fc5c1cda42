// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/row_arena.h"

#include <algorithm>
#include <new>

namespace agentfs {
namespace {

constexpr size_t kFirstBlock = size_t{4} << 10, kLargestBlock = size_t{1} << 20;

}  // namespace

RowArena::~RowArena() {
  for (void* block : blocks_) ::operator delete(block);
}

void* RowArena::Allocate(size_t size) {
  if (size > kLargest) return ::operator new(size);
  const size_t step = (size + kStep - 1) / kStep;
  if (Piece* piece = free_[step]) {
    free_[step] = piece->next;
    return piece;
  }
  if (static_cast<size_t>(end_ - next_) < step * kStep) AddBlock();
  void* piece = next_;
  next_ += step * kStep;
  return piece;
}

void RowArena::Free(void* piece, size_t size) {
  if (size > kLargest) {
    ::operator delete(piece);
    return;
  }
  const size_t step = (size + kStep - 1) / kStep;
  free_[step] = new (piece) Piece{free_[step]};
}

void RowArena::AddBlock() {
  block_size_ = std::clamp(2 * block_size_, kFirstBlock, kLargestBlock);
  next_ = static_cast<char*>(::operator new(block_size_));
  end_ = next_ + block_size_;
  blocks_.push_back(next_);
}

}  // namespace agentfs
