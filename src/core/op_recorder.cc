// SPDX-License-Identifier: Apache-2.0
#include "core/op_recorder.h"

#include <unistd.h>

namespace agentfs {

std::shared_ptr<const OpProcess> OpRecorder::Identify(const Caller& caller, std::string_view branch,
                                                      NodeId node) const {
  if (source_ != nullptr) return source_->Identify(caller, branch, node);
  static const auto self = std::make_shared<const OpProcess>(
      OpProcess{.pid = static_cast<uint32_t>(::getpid()), .uid = ::geteuid()});
  return self;
}

// 0 is what nodes start with.
void OpRecorder::ForgetNames() {
  uint16_t next = static_cast<uint16_t>(generation() + 1);
  generation_.store(next == 0 ? 1 : next, std::memory_order_relaxed);
}

uint32_t OpRecorder::AddView(std::string branch) {
  absl::MutexLock lock(&mu_);
  branches_[++views_] = std::move(branch);
  return views_;
}

std::string OpRecorder::BranchOf(uint32_t view) const {
  absl::MutexLock lock(&mu_);
  const auto it = branches_.find(view);
  return it == branches_.end() ? std::string() : it->second;
}

}  // namespace agentfs
