// SPDX-License-Identifier: Apache-2.0
#include "sys/spare_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "sys/small_file.h"

namespace agentfs {
namespace {

constexpr uint64_t kWorthwhile = uint64_t{16} << 20;
constexpr uint64_t kGrowth = uint64_t{1} << 20;

// What is in memory and was not asked for: free, or not the allocator's.
uint64_t Excess(uint64_t resident) {
  const struct mallinfo2 heap = ::mallinfo2();
  const uint64_t used = heap.uordblks + heap.hblkhd;
  return resident > used ? resident - used : 0;
}

}  // namespace

uint64_t ResidentBytes() {
  const Result<std::string> sizes = ReadSmallFile("/proc/self/statm");
  if (!sizes.ok()) return 0;
  const size_t second = sizes->find(' ');
  if (second == std::string::npos) return 0;
  return std::strtoull(sizes->c_str() + second, nullptr, 10) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void SpareMemory::GiveBack() {
  const uint64_t now = ResidentBytes();
  const bool grows = now > before_ + kGrowth;
  before_ = now;
  if (grows || Excess(now) < kept_ + kWorthwhile) return;
  ::malloc_trim(0);
  before_ = ResidentBytes();
  kept_ = Excess(before_);
}

}  // namespace agentfs
