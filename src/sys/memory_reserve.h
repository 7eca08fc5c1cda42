// SPDX-License-Identifier: Apache-2.0
//
// Memory that is set aside for what has begun: when there is no more, an operation under way gets
// it and comes to its end, and none begins that would change something, until as much can be set
// aside again. So a lack of memory refuses whole operations, and none is left half done.
//
// It is about what operator new gives, and one reserve for the whole process. Thread-safe.
#pragma once

#include <cstddef>

namespace agentfs {

class MemoryReserve {
 public:
  static constexpr size_t kBytes = size_t{16} << 20;

  // Once. Installs the new-handler; without it there is always enough.
  static void SetAside();
  // False: it is spent, and there is not enough for another.
  static bool IsThere();
};

}  // namespace agentfs
