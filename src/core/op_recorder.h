// SPDX-License-Identifier: Apache-2.0
//
// The side of the op log that operations see: whether anything is recorded, and who asks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/op_log.h"

namespace agentfs {

// Thread-safe; its mutex is a leaf.
class OpRecorder {
 public:
  explicit OpRecorder(const AuditOptions& options)
      : options_(options), active_(options.level != AuditLevel::kOff) {}

  const AuditOptions& options() const { return options_; }
  // False: nothing at all is recorded.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  // From now on something may be, whatever the options say.
  void Activate() { active_ = true; }
  // Before the first operation.
  void SetSource(std::shared_ptr<ProcessSource> source) { source_ = std::move(source); }
  std::shared_ptr<const OpProcess> Identify(const Caller& caller, std::string_view branch,
                                            NodeId node) const;

  // A node with this number has a name that the encoder knows; raised when it forgets.
  uint16_t generation() const { return generation_.load(std::memory_order_relaxed); }
  void ForgetNames();

  // Views are told apart by these numbers.
  uint32_t AddView(std::string branch) ABSL_LOCKS_EXCLUDED(mu_);
  std::string BranchOf(uint32_t view) const ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t NextToken() { return next_token_.fetch_add(1, std::memory_order_relaxed); }

  // The first row to keep, as somebody has asked for; 0: nobody has.
  std::atomic<uint64_t> prune_to{0};

 private:
  const AuditOptions options_;
  std::atomic<bool> active_;
  std::shared_ptr<ProcessSource> source_;
  std::atomic<uint16_t> generation_{1};
  std::atomic<uint64_t> next_token_{1};
  mutable absl::Mutex mu_;
  std::map<uint32_t, std::string> branches_ ABSL_GUARDED_BY(mu_);
  uint32_t views_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace agentfs
