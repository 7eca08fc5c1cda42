// SPDX-License-Identifier: Apache-2.0
#include "cli/server/server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "adapters/fuse/transport/mount_helper.h"
#include "cli/command_line.h"
#include "cli/server/lock_or_server.h"
#include "cli/workspace_json.h"
#include "sys/memory_reserve.h"
#include "sys/own_namespace.h"

namespace agentfs::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Who has left the session's mount point is not told: it is looked at so often.
constexpr int kSessionPatienceMs = 1000;
constexpr int kMemoryCheckMs = 5000;

sigset_t ServerSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

int64_t SteadyNow() { return Clock::now().time_since_epoch().count(); }

int MillisecondsUntil(Clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()).count();
  return static_cast<int>(std::max<long>(0, left));
}

fuse::Wanted WantedOf(const Config& config) {
  fuse::Wanted wanted = fuse::MostWanted();
  if (!config.server_io_uring) {
    wanted.features = wanted.features.Without(fuse::Feature::kOverIoUring);
  }
  return wanted;
}

}  // namespace

void Server::BlockEndingSignals() {
  const sigset_t set = ServerSignals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

Result<std::unique_ptr<Server>> Server::Open(Workspace workspace) {
  MemoryReserve::SetAside();
  auto taken = LockOrFindServer(workspace);
  if (!taken.ok()) return taken.error();
  if (!*taken) return Error(EALREADY, "another process serves the workspace");
  workspace.config.volume.watch_base = true;
  // With one processor it would take what it is to save.
  workspace.config.volume.read_ahead = std::thread::hardware_concurrency() > 1;
  AGENTFS_ASSIGN(auto open,
                 OpenWorkspace::Open(std::move(workspace), std::move(**taken), Missing::kFail));
  const sigset_t set = ServerSignals();
  Fd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals || !wake) return ErrnoError();
  AGENTFS_ASSIGN(Fd mount_table, OpenAt(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY));
  std::unique_ptr<Server> server(
      new Server(std::move(open), std::move(signals), std::move(wake), std::move(mount_table)));
  AGENTFS_TRY(server->Listen());
  return server;
}

Server::Server(std::unique_ptr<OpenWorkspace> workspace, Fd signals, Fd wake, Fd mount_table)
    : workspace_(std::move(workspace)),
      signals_(std::move(signals)),
      wake_(std::move(wake)),
      mount_table_(std::move(mount_table)),
      mounts_(workspace_->volume(), workspace_->processes(), workspace_->workspace().layout,
              workspace_->permissions(), changes_, WantedOf(workspace_->workspace().config),
              [this] { Wake(); }),
      last_use_(SteadyNow()) {}

Server::~Server() = default;

Result<void> Server::Listen() {
  workspace_->AttachServer(mounts_, events_, changes_);
  service_ =
      std::make_unique<control::ControlService>(workspace_->operations(), this, AGENTFS_VERSION);
  service_->SetExecutions(*workspace_->executions());
  mounts_.SetControl([this](const fuse::ControlCaller& caller, std::string_view request) {
    return AnswerInside(caller, request);
  });
  control::SocketServer::Options options;
  options.disconnected = [this](uint64_t connection) {
    workspace_->executions()->Abandon(connection);
    mounts_.EndHeldBy(connection);
  };
  options.unused = [this] {
    last_use_ = SteadyNow();
    Wake();
  };
  options.may_leave = [this] {
    if (!mounts_.unused() || !CanSave()) return false;
    leaves_soon_ = true;
    return true;
  };
  AGENTFS_ASSIGN(socket_, control::SocketServer::Start(workspace_->workspace().layout.socket,
                                                       *service_, std::move(options)));
  return Ok();
}

void Server::Wake() { (void)::eventfd_write(wake_.get(), 1); }

bool Server::Wait(int timeout_ms) {
  struct pollfd waits[] = {
      {signals_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}, {mount_table_.get(), POLLPRI, 0}};
  (void)::poll(waits, 3, timeout_ms);
  eventfd_t ignored;
  (void)::eventfd_read(wake_.get(), &ignored);
  return (waits[0].revents & POLLIN) != 0 || ending_;
}

std::chrono::milliseconds Server::StayFor() const {
  const Config& config = workspace_->workspace().config;
  if (leaves_soon_) return std::chrono::milliseconds(0);
  if (mounts_.had_runs()) return std::chrono::milliseconds(config.server_linger_ms);
  // Once the last mount is gone, there is no reason to wait for more.
  return std::chrono::milliseconds(mounts_.used() ? 0 : config.server_idle_ms);
}

Result<void> Server::Run() {
  for (;;) {
    const bool unused = mounts_.empty() && socket_->connections() == 0;
    const auto until = Clock::time_point(Clock::duration(last_use_.load())) + StayFor();
    const bool over = unused && Clock::now() >= until;
    if (over && CanSave() && mounts_.EndUnusedSession() && socket_->StopIfUnused()) break;
    const int patience = over ? kSessionPatienceMs : MillisecondsUntil(until);
    if (Wait(unused ? patience : kMemoryCheckMs)) break;
    mounts_.DropEnded();
    spare_memory_.GiveBack();
  }
  return Leave();
}

bool Server::CanSave() {
  const int code = workspace_->volume().Flush(Durability::kNone).code();
  return code != ENOSPC && code != EDQUOT;
}

Result<void> Server::Leave() {
  socket_->Stop();
  mounts_.EndAll();
  changes_.Drain();
  auto closed = workspace_->Close();
  workspace_->Unlock();
  return closed;
}

Result<std::string> Server::AnswerInside(const fuse::ControlCaller& caller,
                                         std::string_view request) {
  control::Peer peer;
  peer.uid = caller.uid;
  peer.gid = caller.gid;
  peer.pid = caller.pid;
  peer.inside = caller.view;
  control::Request asked;
  asked.text = request;
  return service_->Execute(std::move(asked), peer);
}

Result<control::CommandOutcome> Server::RunCommand(control::CommandRequest request,
                                                   const control::Peer& peer) {
  Context context;
  const Streams streams{request.in.get(), request.out.get(), request.err.get(), peer.socket};
  context.console = std::make_shared<Console>(streams);
  context.identity = {peer.uid, peer.gid, peer.pid, request.umask, peer.groups};
  context.directory = std::move(request.directory);
  context.no_color = request.no_color;
  context.live = workspace_.get();
  control::CommandOutcome outcome;
  if (auto status = ParseCommandLine(std::move(request.arguments), context)) {
    outcome.status = *status;
  } else {
    if (context.place == Place::kClient) {
      return Error(EINVAL, "this command does not run in the server");
    }
    workspace_->Settle();
    outcome.status = context.Run();
  }
  workspace_->Publish();
  outcome.broken_pipe = context.console->broken_pipe();
  return outcome;
}

Result<void> Server::Shutdown(control::UnmountForce force) {
  for (const control::MountState& mount : mounts_.List()) {
    AGENTFS_TRY(mounts_.Unmount(mount.point, force));
  }
  ending_ = true;
  Wake();
  return Ok();
}

void Server::Describe(nlohmann::ordered_json& status) {
  DescribeWorkspace(workspace_->workspace(), status);
  status["server"] = {{"pid", ::getpid()}, {"version", AGENTFS_VERSION}};
}

namespace {

void TellStarter(int ready, const std::string& text) {
  if (ready < 0) return;
  (void)!::write(ready, text.data(), text.size());
  ::close(ready);
}

std::string ErrorText(const Error& error) { return control::ControlService::Answer(error); }

}  // namespace

Result<int> RunServe(Context& context, const ServeOptions& options) {
  Server::BlockEndingSignals();
  // Where users may not have namespaces either, mounting says what is missing.
  if (::geteuid() != 0 && !fuse::HasMountHelper()) (void)EnterOwnNamespace();
  auto server = [&]() -> Result<std::unique_ptr<Server>> {
    AGENTFS_ASSIGN(Workspace workspace, LocateWorkspace(context));
    return Server::Open(std::move(workspace));
  }();
  if (server.code() == EALREADY) {
    TellStarter(options.ready, "ready");
    return kDone;
  }
  if (!server.ok()) {
    TellStarter(options.ready, ErrorText(server.error()));
    return server.error();
  }
  TellStarter(options.ready, "ready");
  AGENTFS_TRY((*server)->Run());
  return kDone;
}

}  // namespace agentfs::cli
