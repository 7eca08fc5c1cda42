// SPDX-License-Identifier: Apache-2.0
//
// mount, umount: they run in the client, and ask the server, which mount starts if need be.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "adapters/control/client.h"
#include "adapters/fuse/transport/mount_point.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/server/mount_record.h"
#include "cli/server/start.h"
#include "sys/fd.h"
#include "sys/first_open.h"
#include "sys/mount_query.h"
#include "sys/mount_table.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLeaveTimeoutMs = 10'000;

// What is visible at a mount point.
std::optional<MountEntry> MountAt(const std::string& point) {
  auto table = ReadMountTable();
  std::optional<MountEntry> found;
  if (!table.ok()) return found;
  for (MountEntry& entry : *table) {
    if (entry.point == point) found = std::move(entry);
  }
  return found;
}

bool IsMounted(const std::string& point) {
  if (const auto facts = AskForMountAt(point); facts.ok()) {
    return *facts && (*facts)->type == fuse::kFilesystemType;
  }
  auto entry = MountAt(point);
  return entry && entry->type == fuse::kFilesystemType;
}

void NoteHiddenFiles(const Context& context, const std::string& point) {
  std::error_code error;
  if (IsMounted(point) || std::filesystem::is_empty(point, error) || error) return;
  context.Notice("agentfs: " + point +
                 " is not empty: what is in it is hidden while it is mounted");
}

// If the server has nothing left to do, waits until it has let go of the workspace.
void AwaitLeaving(control::ControlClient& client) {
  auto answer = client.Call("leave", Json::object());
  if (answer.ok() && answer->value("leaving", false)) client.WaitForEnd(kLeaveTimeoutMs);
}

// SIGINT, SIGTERM and SIGHUP as a descriptor.
Result<Fd> EndingSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Fd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals) return ErrnoError();
  return signals;
}

// Unmounts at the first signal; if it is busy says so, and takes it away at the second.
Result<int> StayMounted(const Context& context, control::ControlClient& client, const Fd& signals,
                        const std::string& point) {
  AGENTFS_ASSIGN(Fd table, OpenAt(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY));
  for (bool force = false;;) {
    struct pollfd waits[] = {
        {signals.get(), POLLIN, 0}, {client.socket(), POLLRDHUP, 0}, {table.get(), POLLPRI, 0}};
    if (::poll(waits, 3, -1) < 0 && errno != EINTR) return ErrnoError();
    if (waits[1].revents != 0) return Error(ECONNRESET, "the server has ended");
    if (!IsMounted(point)) break;  // by somebody else
    if ((waits[0].revents & POLLIN) == 0) continue;
    struct signalfd_siginfo ignored;
    (void)!::read(signals.get(), &ignored, sizeof(ignored));
    auto unmounted = client.Call("umount", {{"force", force}}, point);
    if (unmounted.ok()) break;
    if (unmounted.code() != EBUSY) return unmounted.error();
    context.Notice("agentfs: " + unmounted.error().message() + "\nonce more takes it away");
    force = true;
  }
  AwaitLeaving(client);
  return kDone;
}

}  // namespace

Result<int> RunMount(Context& context, const MountCommand& command) {
  AGENTFS_ASSIGN(Workspace workspace, LocateWorkspace(context));
  const std::string point = AbsolutePath(command.point);
  context.failed_path = point;
  NoteHiddenFiles(context, point);
  Fd signals;
  if (command.foreground) {
    AGENTFS_ASSIGN(signals, EndingSignals());
  }
  AGENTFS_ASSIGN(auto client, ConnectOrStart(workspace));
  Json arguments = {{"profile", command.profile},
                    {"read_only", command.read_only},
                    {"allow_other", command.allow_other},
                    {"hold", command.foreground}};
  if (!command.branch.empty()) arguments["branch"] = command.branch;
  if (!command.snapshot.empty()) arguments["snapshot"] = command.snapshot;
  auto mounted = client.Call("mount", arguments, point);
  if (!mounted.ok()) {
    AwaitLeaving(client);
    return mounted.error();
  }
  OpenFirst(point);
  const std::string what = mounted->contains("snapshot")
                               ? "snapshot " + (*mounted)["snapshot"].get<std::string>()
                               : "branch " + (*mounted)["branch"].get<std::string>();
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(*mounted));
  } else if (!context.quiet) {
    AGENTFS_TRY(context.Print("Mounted " + what + " at " + point + "\n"));
  }
  if (!command.foreground) return kDone;
  AGENTFS_TRY(context.console->Flush());
  return StayMounted(context, client, signals, point);
}

namespace {

// The workspace whose view is mounted there.
Result<Workspace> WorkspaceMountedAt(const std::string& point) {
  auto entry = MountAt(point);
  if (!entry) return Error(ENOENT, point + ": nothing is mounted there");
  if (entry->type != fuse::kFilesystemType) {
    return Error(EINVAL, point + ": what is mounted there is not a view of a workspace");
  }
  WorkspaceHint hint;
  hint.option = entry->source;
  AGENTFS_ASSIGN(WorkspacePlace place, FindWorkspace(hint));
  return LoadWorkspace(place);
}

// Nobody serves it: what is left of it is removed.
Result<int> RemoveDead(const Context& context, const std::string& point) {
  AGENTFS_ASSIGN(bool removed, fuse::RemoveDeadMount(point));
  if (!removed) return Error(EBUSY, point + ": its server cannot be reached");
  context.Notice("agentfs: the server of " + point + " was gone; removed what was left of it");
  return kDone;
}

Result<int> UnmountOne(Context& context, const UnmountCommand& command) {
  const std::string point = AbsolutePath(command.point);
  context.failed_path = point;
  auto workspace = WorkspaceMountedAt(point);
  if (!workspace.ok()) {
    // A workspace that was removed leaves a mount that only we can name.
    if (workspace.code() == ENOENT && fuse::StateOfPath(point) == fuse::PathState::kDead) {
      return RemoveDead(context, point);
    }
    return workspace.error();
  }
  auto client = control::ControlClient::Connect(workspace->layout.socket);
  if (client.code() == ENOTCONN) return RemoveDead(context, point);
  if (!client.ok()) return client.error();
  AGENTFS_ASSIGN(Json left, client->Call("umount", {{"force", command.force}}, point));
  if (left["mounts_left"] == 0) AwaitLeaving(*client);
  if (context.json) AGENTFS_TRY(context.PrintJson({{"unmounted", {point}}}));
  return kDone;
}

Result<int> UnmountAll(Context& context, const UnmountCommand& command) {
  AGENTFS_ASSIGN(Workspace workspace, LocateWorkspace(context));
  auto client = control::ControlClient::Connect(workspace.layout.socket);
  Json points = Json::array();
  if (client.code() == ENOTCONN) {
    AGENTFS_ASSIGN(WorkspaceLock lock, LockWorkspace(workspace));
    AGENTFS_TRY(CleanUpAfterServer(workspace.layout));
  } else {
    if (!client.ok()) return client.error();
    AGENTFS_ASSIGN(Json left, client->Call("umount-all", {{"force", command.force}}));
    points = left["unmounted"];
    if (left["mounts_left"] == 0) AwaitLeaving(*client);
  }
  if (context.json) AGENTFS_TRY(context.PrintJson({{"unmounted", points}}));
  return kDone;
}

}  // namespace

Result<int> RunUnmount(Context& context, const UnmountCommand& command) {
  if (command.all) return UnmountAll(context, command);
  if (command.point.empty()) {
    return Error(EINVAL, "umount: a mount point or --all is needed",
                 "'agentfs umount --help' shows the usage");
  }
  return UnmountOne(context, command);
}

}  // namespace agentfs::cli
