// SPDX-License-Identifier: Apache-2.0
//
// One process at a time opens a workspace's store.
#pragma once

#include <cstdint>
#include <string>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

// Held while it lives; the kernel lets go of it when the process dies, however it dies. The file
// holds the owner's pid.
class WorkspaceLock {
 public:
  enum class After : uint8_t { kKeepFile, kRemoveFile };

  // Waits at most `timeout_ms` for another holder, then EBUSY with a message that names its pid.
  static Result<WorkspaceLock> Acquire(const std::string& file, uint32_t timeout_ms, After after);

  WorkspaceLock(WorkspaceLock&&) = default;
  WorkspaceLock& operator=(WorkspaceLock&&) = delete;
  ~WorkspaceLock();

 private:
  WorkspaceLock(std::string file, Fd fd, After after)
      : file_(std::move(file)), fd_(std::move(fd)), after_(after) {}

  std::string file_;
  Fd fd_;
  After after_;
};

}  // namespace agentfs
