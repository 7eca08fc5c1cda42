// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/access_rules.h"

namespace agentfs {

// The rules in force now; none: everything is allowed. Thread-safe.
class RulesInForce {
 public:
  // Null where there are none, which costs no lock.
  std::shared_ptr<const AccessRules> Get() const ABSL_LOCKS_EXCLUDED(mu_) {
    if (!any_.load(std::memory_order_acquire)) return nullptr;
    absl::ReaderMutexLock lock(&mu_);
    return rules_;
  }
  void Set(std::shared_ptr<const AccessRules> rules) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    rules_ = std::move(rules);
    any_.store(rules_ != nullptr, std::memory_order_release);
  }

 private:
  std::atomic<bool> any_{false};
  mutable absl::Mutex mu_;
  std::shared_ptr<const AccessRules> rules_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
