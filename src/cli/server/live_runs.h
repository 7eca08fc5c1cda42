// SPDX-License-Identifier: Apache-2.0
//
// The commands that run in sandboxes now. Each lives as long as its client's connection.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/control/mount_host.h"
#include "agentfs/filesystem.h"

namespace agentfs::cli {

// Thread-safe. Holds the views, so that their branches are in use.
class LiveRuns {
 public:
  void Add(const control::RunRequest& request, std::shared_ptr<FileSystem> view);
  // The execs of what the connection held.
  std::vector<uint64_t> EndHeldBy(uint64_t connection);
  // Says whose run it is; none: the connection has no run.
  std::optional<control::RunRequest> NoteExec(uint64_t connection, uint64_t exec);
  std::vector<control::RunRequest> List() const;
  bool IsIn(std::string_view branch) const;
  // Whether there has ever been one.
  bool used() const { return used_; }

 private:
  struct Run {
    control::RunRequest request;
    std::shared_ptr<FileSystem> view;
    uint64_t exec = 0;  // 0: none yet
  };

  std::atomic<bool> used_ = false;
  mutable absl::Mutex mu_;
  std::vector<Run> runs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::cli
