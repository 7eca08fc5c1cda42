// SPDX-License-Identifier: Apache-2.0
//
// The process that holds a workspace while something of it is mounted: its lock, volume, mounts and
// control socket.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "adapters/control/change_events.h"
#include "adapters/control/service.h"
#include "adapters/control/socket_server.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/server/live_mounts.h"
#include "sys/fd.h"
#include "sys/spare_memory.h"

namespace agentfs::cli {

// Made, run and destroyed by one thread, which must have blocked the signals that end it
// (BlockEndingSignals) before any other thread was started.
class Server final : public control::ServiceHost {
 public:
  // Takes the workspace and cleans up after a server that was killed. EALREADY: another process
  // serves it.
  static Result<std::unique_ptr<Server>> Open(Workspace workspace);
  ~Server() override;

  // Returns when a signal or a request ended it, or when nothing was left to do: unmounted,
  // everything on stable storage, the workspace free for others.
  Result<void> Run();

  Result<control::CommandOutcome> RunCommand(control::CommandRequest request,
                                             const control::Peer& peer) override;
  Result<void> Shutdown(control::UnmountForce force) override;
  void Describe(nlohmann::ordered_json& status) override;

  static void BlockEndingSignals();

 private:
  Server(std::unique_ptr<OpenWorkspace> workspace, Fd signals, Fd wake, Fd mount_table);
  Result<void> Listen();
  // Waits until something may have changed. True: it has been told to end.
  bool Wait(int timeout_ms);
  void Wake();
  // Not where the disk is full: somebody may make room, and nothing is lost until then.
  bool CanSave();
  Result<void> Leave();
  Result<std::string> AnswerInside(const fuse::ControlCaller& caller, std::string_view request);

  std::unique_ptr<OpenWorkspace> workspace_;
  const Fd signals_;
  const Fd wake_;
  const Fd mount_table_;  // tells of changes
  control::EventHub events_;
  control::ChangeEvents changes_{events_};
  LiveMounts mounts_;
  std::unique_ptr<control::ControlService> service_;
  std::unique_ptr<control::SocketServer> socket_;
  // How long it stays when nobody uses it.
  std::chrono::milliseconds StayFor() const;

  SpareMemory spare_memory_;
  std::atomic<int64_t> last_use_;  // when a connection ended, as steady time
  std::atomic<bool> ending_ = false;
  std::atomic<bool> leaves_soon_ = false;  // a client waits for it
};

// `agentfs serve`: the server's process. Tells whether it is ready through the pipe `ready`.
struct ServeOptions {
  int ready = -1;
};
Result<int> RunServe(Context& context, const ServeOptions& options);

}  // namespace agentfs::cli
