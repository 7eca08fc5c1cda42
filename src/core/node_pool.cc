// SPDX-License-Identifier: Apache-2.0
#include "core/node_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace agentfs {
namespace {

constexpr size_t kFirstObjects = 4;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

NodePool::~NodePool() {
  for (void* block : blocks_) std::free(block);
}

void* NodePool::Allocate() {
  absl::MutexLock lock(&mu_);
  if (free_ != nullptr) {
    FreeObject* object = free_;
    free_ = object->next;
    return object;
  }
  if (static_cast<size_t>(end_ - next_) < object_size_) AddBlock();
  char* object = next_;
  next_ += object_size_;
  return object;
}

void NodePool::Free(void* object) {
  absl::MutexLock lock(&mu_);
  free_ = new (object) FreeObject{free_};
}

// An eighth of what there is: little is unused, and there are few blocks.
void NodePool::AddBlock() {
  size_t size = std::max(total_ / 8, kFirstObjects * object_size_);
  size = size >= kHugePage ? kHugePage : size / object_size_ * object_size_;
  const bool huge = size == kHugePage;
  void* block = huge ? std::aligned_alloc(kHugePage, size) : std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  if (huge) (void)::madvise(block, size, MADV_HUGEPAGE);
  blocks_.push_back(block);
  total_ += size;
  next_ = static_cast<char*>(block);
  end_ = next_ + size;
}

}  // namespace agentfs
