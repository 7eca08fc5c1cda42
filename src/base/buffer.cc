// SPDX-License-Identifier: Apache-2.0
#include "agentfs/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace agentfs {

Buffer Buffer::Allocate(size_t size, size_t capacity) {
  capacity = std::max(size, capacity);
  void* memory = ::operator new(sizeof(Rep) + capacity);
  auto* rep = new (memory) Rep{1, static_cast<uint32_t>(size), static_cast<uint32_t>(capacity)};
  return Buffer(rep);
}

Buffer Buffer::Copy(std::string_view bytes, size_t capacity) {
  Buffer buffer = Allocate(bytes.size(), capacity);
  if (!bytes.empty()) std::memcpy(buffer.mutable_data(), bytes.data(), bytes.size());
  return buffer;
}

void Buffer::Unref() {
  if (rep_ && rep_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    rep_->~Rep();
    ::operator delete(rep_);
  }
}

}  // namespace agentfs
