// SPDX-License-Identifier: Apache-2.0
#include "cli/server/live_runs.h"

#include <algorithm>
#include <iterator>

namespace agentfs::cli {

void LiveRuns::Add(const control::RunRequest& request, std::shared_ptr<FileSystem> view) {
  used_ = true;
  absl::MutexLock lock(&mu_);
  runs_.push_back({request, std::move(view)});
}

std::optional<control::RunRequest> LiveRuns::NoteExec(uint64_t connection, uint64_t exec) {
  absl::MutexLock lock(&mu_);
  for (Run& run : runs_) {
    if (run.request.connection != connection) continue;
    run.exec = exec;
    return run.request;
  }
  return std::nullopt;
}

std::vector<uint64_t> LiveRuns::EndHeldBy(uint64_t connection) {
  std::vector<Run> ended;  // views are let go of outside of the lock
  std::vector<uint64_t> execs;
  absl::MutexLock lock(&mu_);
  const auto first = std::stable_partition(runs_.begin(), runs_.end(), [&](const Run& run) {
    return run.request.connection != connection;
  });
  std::move(first, runs_.end(), std::back_inserter(ended));
  runs_.erase(first, runs_.end());
  for (const Run& run : ended) {
    if (run.exec != 0) execs.push_back(run.exec);
  }
  return execs;
}

std::vector<control::RunRequest> LiveRuns::List() const {
  std::vector<control::RunRequest> list;
  absl::MutexLock lock(&mu_);
  for (const Run& run : runs_) list.push_back(run.request);
  return list;
}

bool LiveRuns::IsIn(std::string_view branch) const {
  absl::MutexLock lock(&mu_);
  return std::any_of(runs_.begin(), runs_.end(),
                     [&](const Run& run) { return run.request.branch == branch; });
}

}  // namespace agentfs::cli
