// SPDX-License-Identifier: Apache-2.0
#include "sys/memory_reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

namespace agentfs {
namespace {

std::atomic<bool> is_wanted{false};
std::atomic<void*> reserve{nullptr};

void* MapReserve() {
  void* mapped = ::mmap(nullptr, MemoryReserve::kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

// When operator new has failed; it tries again when this returns.
void Spend() {
  void* mapped = reserve.exchange(nullptr);
  if (mapped == nullptr) throw std::bad_alloc();
  ::munmap(mapped, MemoryReserve::kBytes);
}

}  // namespace

void MemoryReserve::SetAside() {
  is_wanted = true;
  (void)IsThere();
  std::set_new_handler(Spend);
}

bool MemoryReserve::IsThere() {
  if (reserve.load(std::memory_order_relaxed) != nullptr) return true;
  if (!is_wanted.load(std::memory_order_relaxed)) return true;
  void* mapped = MapReserve();
  if (mapped == nullptr) return false;
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, mapped)) ::munmap(mapped, kBytes);
  return true;
}

}  // namespace agentfs
