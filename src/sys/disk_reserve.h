// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a disk that is getting full, in a file, for those who must write in order to free
// space. What statfs calls free is no promise: some filesystems keep the last of it to themselves.
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/types.h"

namespace agentfs {

// Thread-safe. Where the filesystem cannot allocate blocks it holds nothing, which is no error.
class DiskReserve {
 public:
  // What another process that was killed has left in `file` is taken over.
  explicit DiskReserve(std::string file);
  ~DiskReserve();  // gives it back
  DiskReserve(const DiskReserve&) = delete;
  DiskReserve& operator=(const DiskReserve&) = delete;

  // How much of such a disk is to be kept: a half of it is held, the other is to be left free by
  // those who could do without.
  static uint64_t KeptOn(const FsStats& disk);

  // Holds its half once the disk has little room, but leaves as much free as it takes, and gives it
  // back when there is much again. The bytes held.
  uint64_t Hold(const FsStats& disk) ABSL_LOCKS_EXCLUDED(mu_);
  // Gives it back until Return is called; false: there is nothing.
  bool Lend() ABSL_LOCKS_EXCLUDED(mu_);
  void Return() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Allocate(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveBack() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string file_;
  absl::Mutex mu_;
  uint64_t held_ ABSL_GUARDED_BY(mu_) = 0;
  bool lent_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace agentfs
