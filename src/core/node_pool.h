// SPDX-License-Identifier: Apache-2.0
//
// Memory for the nodes of a view: many objects of one size, side by side in blocks that grow with
// their number. A view of one node stays small; a million nodes lie in huge pages, where the host
// has them, because what a random look-up costs then is the walk through the page tables.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs {

// Thread-safe; its lock is a leaf. Memory given back is used again, but goes back to the host only
// with the pool.
class NodePool {
 public:
  explicit NodePool(size_t object_size) : object_size_(object_size) {}
  ~NodePool();
  NodePool(const NodePool&) = delete;
  NodePool& operator=(const NodePool&) = delete;

  void* Allocate();
  void Free(void* object);

 private:
  struct FreeObject {
    FreeObject* next;
  };
  struct Block {
    void* bytes;
    size_t size;
  };
  void AddBlock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t object_size_;
  absl::Mutex mu_;
  FreeObject* free_ ABSL_GUARDED_BY(mu_) = nullptr;
  char* next_ ABSL_GUARDED_BY(mu_) = nullptr;  // the unused rest of the last block
  char* end_ ABSL_GUARDED_BY(mu_) = nullptr;
  size_t total_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Block> blocks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
