// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/mcp/line_channel.h"

namespace agentfs::mcp {

// Tells the client how far a call is, if it has asked for that. Thread-safe.
class Progress {
 public:
  // `token` as JSON text; empty: the client does not want to know.
  Progress(std::string token, LineChannel& channel);

  bool wanted() const { return !token_.empty(); }
  // One more of what the call goes through; told at most ten times a second.
  void Step();
  // How many there will be.
  void SetTotal(uint64_t total);
  // Called now and then while the call runs: tells that it still does, if nothing else has.
  void Beat();
  // The call is done; nothing is told after this.
  void End();

 private:
  using Clock = std::chrono::steady_clock;
  void TellLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string token_;
  LineChannel& channel_;
  const Clock::time_point started_ = Clock::now();
  absl::Mutex mu_;  // outside of the channel's
  uint64_t steps_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t total_ ABSL_GUARDED_BY(mu_) = 0;  // 0: not known
  double told_ ABSL_GUARDED_BY(mu_) = -1;
  Clock::time_point told_at_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace agentfs::mcp
