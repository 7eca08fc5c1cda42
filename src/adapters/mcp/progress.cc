// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "adapters/mcp/protocol.h"

namespace agentfs::mcp {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

}  // namespace

Progress::Progress(std::string token, LineChannel& channel)
    : token_(std::move(token)), channel_(channel), told_at_(started_) {}

// A call that counts nothing tells the seconds that it has taken; the value must always grow.
void Progress::TellLocked() {
  const std::chrono::duration<double> elapsed = Clock::now() - started_;
  const double value = steps_ > 0 ? static_cast<double>(steps_) : elapsed.count();
  if (value <= told_ || ended_) return;
  told_ = value;
  told_at_ = Clock::now();
  nlohmann::ordered_json params = {{"progressToken", nlohmann::ordered_json::parse(token_)}};
  if (steps_ > 0) {
    params["progress"] = steps_;
  } else {
    params["progress"] = value;
  }
  if (total_ > 0) params["total"] = total_;
  (void)channel_.Write(NotificationText("notifications/progress", params));
}

void Progress::Step() {
  if (!wanted()) return;
  absl::MutexLock lock(&mu_);
  ++steps_;
  if (Clock::now() - told_at_ >= kInterval) TellLocked();
}

void Progress::SetTotal(uint64_t total) {
  absl::MutexLock lock(&mu_);
  total_ = total;
}

void Progress::Beat() {
  if (!wanted()) return;
  absl::MutexLock lock(&mu_);
  if (Clock::now() - told_at_ >= kInterval) TellLocked();
}

void Progress::End() {
  if (!wanted()) return;
  absl::MutexLock lock(&mu_);
  TellLocked();
  ended_ = true;
}

}  // namespace agentfs::mcp
