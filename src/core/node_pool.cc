// SPDX-License-Identifier: Apache-2.0
#include "core/node_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace agentfs {
namespace {

constexpr size_t kFirstObjects = 4;
constexpr size_t kHugePage = size_t{2} << 20;

// Aligned, so that the host can use one page for all of it.
void* MapHugePage() {
  const auto map = [] {
    return ::mmap(nullptr, 2 * kHugePage, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void* mapped = map();
  while (mapped == MAP_FAILED) {  // as operator new does
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    mapped = map();
  }
  char* start = static_cast<char*>(mapped);
  const size_t before = -reinterpret_cast<uintptr_t>(start) % kHugePage;
  if (before > 0) ::munmap(start, before);
  ::munmap(start + before + kHugePage, kHugePage - before);
  (void)::madvise(start + before, kHugePage, MADV_HUGEPAGE);
  return start + before;
}

}  // namespace

NodePool::~NodePool() {
  for (const Block& block : blocks_) {
    if (block.size == kHugePage) {
      ::munmap(block.bytes, block.size);
    } else {
      ::operator delete(block.bytes);
    }
  }
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
  blocks_.reserve(blocks_.size() + 1);  // what follows is not lost for want of room here
  void* block = size == kHugePage ? MapHugePage() : ::operator new(size);
  blocks_.push_back({block, size});
  total_ += size;
  next_ = static_cast<char*>(block);
  end_ = next_ + size;
}

}  // namespace agentfs
