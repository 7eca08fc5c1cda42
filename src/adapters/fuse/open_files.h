// SPDX-License-Identifier: Apache-2.0
//
// What was opened through a mount whose opens are messages, and how much was moved since, for the
// op log.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/filesystem.h"

namespace agentfs::fuse {

// Thread-safe. Its mutex is a leaf.
class OpenFiles {
 public:
  // The handle for the kernel; 0: nobody wants to know.
  uint64_t Opened(const Caller& caller, FileSystem& fs, Node& node);
  void Read(uint64_t handle, uint64_t bytes) { Count(handle, bytes, 0); }
  void Written(uint64_t handle, uint64_t bytes) { Count(handle, 0, bytes); }
  // The last descriptor of the handle is closed.
  void Released(uint64_t handle, FileSystem& fs) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Moved {
    uint64_t read = 0, written = 0;
  };
  void Count(uint64_t handle, uint64_t read, uint64_t written) ABSL_LOCKS_EXCLUDED(mu_);

  absl::Mutex mu_;
  absl::flat_hash_map<uint64_t, Moved> files_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::fuse
