// SPDX-License-Identifier: Apache-2.0
#include "cli/server/lock_or_server.h"

#include <algorithm>
#include <chrono>

#include "sys/unix_socket.h"

namespace agentfs::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long the lock is waited for before the socket is looked at again.
constexpr milliseconds kTurn(20);

}  // namespace

Result<std::optional<WorkspaceLock>> LockOrFindServer(const Workspace& workspace) {
  const auto deadline = Clock::now() + milliseconds(workspace.config.lock_timeout_ms);
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    const auto turn = std::clamp(left, milliseconds(0), kTurn);
    auto lock = LockWorkspace(workspace, static_cast<uint32_t>(turn.count()));
    if (lock.ok()) return std::optional<WorkspaceLock>(std::move(lock).value());
    if (lock.code() != EBUSY) return lock.error();
    if (ConnectUnix(workspace.layout.socket).ok()) return std::optional<WorkspaceLock>();
    if (Clock::now() >= deadline) return lock.error();
  }
}

}  // namespace agentfs::cli
