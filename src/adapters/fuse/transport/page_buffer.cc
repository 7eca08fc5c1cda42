// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/page_buffer.h"

#include <sys/mman.h>

#include "sys/fd.h"

namespace agentfs::fuse {

Result<PageBuffer> PageBuffer::Create(size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrnoError().WithContext("no memory for FUSE requests");
  return PageBuffer(std::span(static_cast<char*>(memory), size));
}

PageBuffer::~PageBuffer() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace agentfs::fuse
