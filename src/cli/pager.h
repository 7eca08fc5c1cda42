// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace agentfs::cli {

// A program that shows the output page by page. While it lives, the process's stdout goes there;
// its destructor waits until the person has seen enough.
class Pager {
 public:
  // Starts $PAGER (default: less) if stdout is a terminal. `cat` and "" mean none.
  Pager();
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  bool running() const { return pid_ > 0; }

 private:
  pid_t pid_ = 0;
};

}  // namespace agentfs::cli
