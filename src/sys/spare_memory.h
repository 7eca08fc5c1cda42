// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace agentfs {

// How much of this process is in memory; 0 where /proc does not say.
uint64_t ResidentBytes();

// Gives memory that was freed back to the system. The allocator keeps it otherwise, and a server
// that once had much to do stays as large as it was then.
class SpareMemory {
 public:
  // To be called every few seconds, by one thread. Does nothing while the process grows, nor where
  // less than 16 MiB would come of it; takes some milliseconds when it does.
  void GiveBack();

 private:
  uint64_t before_ = 0;  // at the last call
  uint64_t kept_ = 0;    // what could not be given back
};

}  // namespace agentfs
