// SPDX-License-Identifier: Apache-2.0
#include "cli/server/live_mounts.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "agentfs/exec_log.h"
#include "cli/server/mapped_pages.h"
#include "cli/server/mount_record.h"
#include "cli/server/mount_rules.h"
#include "sys/mount_table.h"
#include "sys/own_namespace.h"
#include "sys/path_users.h"
#include "vfs/outside.h"

namespace agentfs::cli {
namespace {

using control::MountRequest;
using control::MountState;
using control::MountUser;
using control::UnmountForce;

constexpr size_t kUsersNamed = 5;

MountState StateOf(const MountRequest& request, const fuse::Mount& mount) {
  MountState state;
  state.point = request.point;
  state.branch = request.branch;
  state.snapshot = request.snapshot;
  state.profile = request.profile;
  state.read_only = request.read_only || !request.snapshot.empty();
  state.allow_other = request.allow_other;
  state.capabilities.emplace_back(mount.transport());
  for (fuse::Feature feature : fuse::AllFeatures()) {
    if (mount.capabilities().features.Has(feature)) {
      state.capabilities.emplace_back(fuse::NameOf(feature));
    }
  }
  for (const fuse::OperationCount& each : mount.Stats().operations) {
    state.operations.emplace_back(each.operation, each.count);
  }
  return state;
}

// The mount appears where the server is, which must be where the client looks.
Result<void> CheckSameNamespace(uint32_t pid) {
  if (IsInOwnNamespace()) {
    return Error(EPERM, "without fusermount3 nothing can be mounted for others to see",
                 "install the package fuse3; 'agentfs run' works without it");
  }
  struct stat own, client;
  const std::string other = fmt::format("/proc/{}/ns/mnt", pid);
  if (::stat("/proc/self/ns/mnt", &own) != 0 || ::stat(other.c_str(), &client) != 0) return Ok();
  if (own.st_ino == client.st_ino) return Ok();
  return Error(EXDEV, "the workspace's server runs in another mount namespace",
               "mount from there, or unmount what it has mounted so that it ends");
}

}  // namespace

std::vector<LiveMounts::LivePtr> LiveMounts::Snapshot() const {
  absl::MutexLock lock(&mu_);
  return mounts_;
}

bool LiveMounts::empty() const {
  absl::MutexLock lock(&mu_);
  return mounts_.empty();
}

bool LiveMounts::used() const {
  absl::MutexLock lock(&mu_);
  return used_;
}

Result<LiveMounts::LivePtr> LiveMounts::Find(std::string_view point) const {
  for (const LivePtr& live : Snapshot()) {
    if (live->request.point == point) return live;
  }
  return Error(ENOENT, std::string(point) + ": not a mount of this workspace",
               "'agentfs status' lists the mounts");
}

Result<void> LiveMounts::Start(Live& live) {
  const MountRequest& request = live.request;
  fuse::MountSource source;
  if (request.snapshot.empty()) {
    auto view = volume_.OpenBranch(request.branch);
    if (!view.ok()) {
      return Error(view.code(), "branch " + request.branch + ": " + view.error().message(),
                   "'agentfs branch list' shows the branches");
    }
    source.view = *view;
    source.view_name = request.branch;
    live.watch = changes_.WatchBranch(request.branch, *view);
  } else {
    auto view = volume_.OpenSnapshot(request.snapshot);
    if (!view.ok()) {
      return Error(view.code(), "snapshot " + request.snapshot + ": " + view.error().message(),
                   "'agentfs snapshot list' shows the snapshots");
    }
    source.view = *view;
    source.view_name = request.snapshot;
  }
  source.volume = &volume_;
  source.rules = permissions_.rules();
  fuse::ServeOptions options;
  options.mount_point = request.point;
  options.mount.source = layout_.root;
  options.mount.read_only = request.read_only || !request.snapshot.empty();
  options.mount.allow_other = request.allow_other;
  options.profile = request.profile == "bulk" ? fuse::Profile::kBulk : fuse::Profile::kDefault;
  options.wanted = wanted_;
  options.control = control_;
  AGENTFS_ASSIGN(live.mount, fuse::Mount::Start(std::move(source), std::move(options)));
  return Ok();
}

Result<MountState> LiveMounts::Mount(const MountRequest& asked) {
  MountRequest request = asked;
  request.point = AbsolutePath(request.point);
  if (request.branch.empty() && request.snapshot.empty()) request.branch = kMainBranch;
  if (request.profile != "default" && request.profile != "bulk") {
    return Error(EINVAL, "profile '" + request.profile + "': there are default and bulk");
  }
  AGENTFS_TRY(CheckSameNamespace(request.pid));
  absl::MutexLock changing(&change_mu_);
  AGENTFS_TRY(PrepareMountPoint(layout_, request.point));
  AGENTFS_TRY(RefreshPermissions());
  auto live = std::make_shared<Live>();
  live->request = request;
  AGENTFS_TRY(Start(*live));
  {
    absl::MutexLock lock(&mu_);
    mounts_.push_back(live);
    used_ = true;
  }
  if (!AddToMountRecord(layout_, request.point).ok()) Record();
  return StateOf(request, *live->mount);
}

Result<std::string> LiveMounts::SessionRoot() { return RootOf(sessions_.plain()); }

Result<std::string> LiveMounts::RootOf(BranchSession& session) {
  absl::MutexLock changing(&change_mu_);
  AGENTFS_TRY(RefreshPermissions());
  const std::string before = session.point();
  AGENTFS_ASSIGN(std::string root, session.Root());
  if (root != before) Record();
  return root;
}

bool LiveMounts::Release(std::string_view branch) {
  const std::vector<BranchSession*> sessions = sessions_.All();
  return std::all_of(sessions.begin(), sessions.end(),
                     [&](BranchSession* each) { return each->Release(branch); });
}

void LiveMounts::Forget(std::string_view branch, const std::vector<Touched::Name>& names) {
  for (const LivePtr& live : Snapshot()) {
    if (live->request.branch == branch) live->mount->Forget(branch, names);
  }
  for (BranchSession* each : sessions_.All()) {
    for (const auto& session : each->All()) session->Forget(branch, names);
  }
}

std::vector<control::BoundProcess> LiveMounts::Bound() const {
  for (const BranchSession* session : sessions_.All()) {
    if (!session->empty()) return session->ListBound();
  }
  return {};
}

Result<control::BindState> LiveMounts::Bind(const control::BindRequest& request) {
  absl::MutexLock changing(&change_mu_);
  had_bound_ = true;
  auto bound = sessions_.plain().Bind(request);
  Record();
  return bound;
}

Error LiveMounts::Busy(const std::string& point) {
  std::string who;
  const auto users = FindPathUsers(point);
  for (size_t i = 0; i < users.size() && i < kUsersNamed; ++i) {
    who += fmt::format("{}{} (process {})", i == 0 ? "" : ", ", users[i].name, users[i].pid);
  }
  if (users.size() > kUsersNamed) who += fmt::format(" and {} more", users.size() - kUsersNamed);
  auto table = ReadMountTable();
  if (who.empty() && table.ok()) {
    for (const MountEntry& entry : *table) {
      if (entry.point.starts_with(point + "/")) who = "the mount at " + entry.point;
    }
  }
  if (who.empty()) who = "a process that cannot be seen from here";
  return Error(EBUSY, "cannot unmount " + point + ": it is in use by " + who,
               "end that, or 'agentfs umount --force' takes it away");
}

Result<void> LiveMounts::UnmountOne(const LivePtr& live, UnmountForce force) {
  const std::string& point = live->request.point;
  auto mode = fuse::UnmountMode::kPlain;
  if (force == UnmountForce::kYes) {
    mode = fuse::UnmountMode::kForced;
    if (live->mount->alive()) (void)WriteMappedPages(point, live->mount->mappings_written());
    live->mount->Settle();
  }
  auto unmounted = live->mount->Unmount(mode);
  if (unmounted.code() == EBUSY) return Busy(point);
  if (!unmounted.ok()) return unmounted.error().WithContext("cannot unmount " + point);
  if (force == UnmountForce::kNo) live->mount->WaitUntilEnded();
  Forget(live);
  return Ok();
}

Result<void> LiveMounts::UnmountSession(BranchSession& session, UnmountForce force) {
  if (force == UnmountForce::kYes) {
    if (const auto mount = session.Mounted()) {
      (void)WriteMappedPages(session.point(), mount->mappings_written());
    }
    session.End();
  } else {
    const auto bound = Bound();
    if (!bound.empty()) {
      return Error(EBUSY,
                   fmt::format("{} (process {}) is in branch {}", bound.front().name,
                               bound.front().pid, bound.front().branch),
                   "end it, or 'agentfs umount --force' takes the branch away from it");
    }
    AGENTFS_TRY(session.Detach(fuse::UnmountMode::kPlain));
  }
  Record();
  return Ok();
}

bool LiveMounts::EndUnusedSession() {
  absl::MutexLock changing(&change_mu_);
  const std::vector<BranchSession*> sessions = sessions_.All();
  for (BranchSession* session : sessions) session->DropEnded();
  if (std::all_of(sessions.begin(), sessions.end(), [](auto* each) { return each->empty(); })) {
    return true;
  }
  if (Bound().empty()) {
    for (BranchSession* session : sessions) (void)session->Detach(fuse::UnmountMode::kPlain).ok();
    Record();
  }
  return false;
}

Result<void> LiveMounts::Unmount(std::string_view point, UnmountForce force) {
  absl::MutexLock changing(&change_mu_);
  for (BranchSession* session : sessions_.All()) {
    if (!point.empty() && point == session->point()) return UnmountSession(*session, force);
  }
  AGENTFS_ASSIGN(LivePtr live, Find(point));
  return UnmountOne(live, force);
}

void LiveMounts::Forget(const LivePtr& live) {
  {
    absl::MutexLock lock(&mu_);
    std::erase(mounts_, live);
  }
  Record();
}

void LiveMounts::Record() {
  std::vector<std::string> points;
  for (const LivePtr& live : Snapshot()) points.push_back(live->request.point);
  for (BranchSession* session : sessions_.All()) {
    if (std::string point = session->point(); !point.empty()) points.push_back(point);
  }
  auto saved = SaveMountRecord(layout_, points);
  if (!saved.ok()) fmt::print(stderr, "{}: {}\n", layout_.mounts, saved.error().message());
}

std::vector<MountState> LiveMounts::List() {
  std::vector<MountState> states;
  for (const LivePtr& live : Snapshot()) states.push_back(StateOf(live->request, *live->mount));
  for (BranchSession* each : sessions_.All()) {
    const auto session = each->Mounted();
    if (!session) continue;
    MountRequest request;
    request.point = session->options().mount_point;
    if (session->options().profile == fuse::Profile::kAudited) request.profile = "audited";
    states.push_back(StateOf(request, *session));
  }
  return states;
}

std::vector<MountUser> LiveMounts::Users(std::string_view point) {
  std::vector<MountUser> users;
  for (PathUser& user : FindPathUsers(std::string(point))) {
    users.push_back({user.pid, std::move(user.name)});
  }
  return users;
}

Result<std::string> LiveMounts::BeginRun(const control::RunRequest& request) {
  if (!IsInOwnNamespace()) AGENTFS_TRY(CheckSameNamespace(request.pid));
  AGENTFS_ASSIGN(auto view, volume_.OpenBranch(request.branch));
  const AuditLevel level = request.audit.value_or(volume_.GetAuditLevel());
  const auto profile =
      level == AuditLevel::kAll ? fuse::Profile::kAudited : fuse::Profile::kDefault;
  runs_.Add(request, std::move(view));  // before its session is looked for: it is in use from here
  auto root = RootOf(sessions_.Get(profile, HiddenInViews(request)));
  if (!root.ok()) EndRun(request.connection);
  return root;
}

// As the views have them.
std::vector<std::string> LiveMounts::HiddenInViews(const control::RunRequest& request) const {
  std::set<std::string> paths;
  const std::string top = layout_.base == "/" ? "/" : layout_.base + "/";
  for (const std::string& path : request.hidden) {
    paths.insert(path.starts_with(top) ? path.substr(top.size() - 1)
                                       : std::string(kHostPrefix) + path);
  }
  return {paths.begin(), paths.end()};
}

void LiveMounts::DetachHiding() {
  if (sessions_.HidingOther({}).empty()) return;
  absl::MutexLock changing(&change_mu_);
  std::vector<std::vector<std::string>> wanted;
  for (const control::RunRequest& run : runs_.List()) wanted.push_back(HiddenInViews(run));
  const std::vector<BranchSession*> others = sessions_.HidingOther(wanted);
  for (BranchSession* session : others) (void)session->Detach(fuse::UnmountMode::kPlain).ok();
  if (!others.empty()) Record();
}

void LiveMounts::NoteExec(uint64_t connection, uint64_t exec, AuditLevel level) {
  const auto run = runs_.NoteExec(connection, exec);
  if (run) processes_.AddExec({exec, run->pid, run->branch, level});
}

void LiveMounts::EndRun(uint64_t connection) {
  for (uint64_t exec : runs_.EndHeldBy(connection)) processes_.EndExec(exec);
  DetachHiding();
}

// One that has not told its end was killed.
void LiveMounts::LoseRun(uint64_t connection) {
  for (uint64_t exec : runs_.EndHeldBy(connection)) {
    processes_.EndExec(exec);
    (void)EndExec(volume_, exec, {.status = kExecLost});
  }
  DetachHiding();
}

Result<void> LiveMounts::FlushPages(std::string_view branch) {
  for (const LivePtr& live : Snapshot()) {
    if (live->request.branch != branch || !live->request.snapshot.empty()) continue;
    if (live->mount->alive()) {
      AGENTFS_TRY(WriteMappedPages(live->request.point, live->mount->mappings_written()));
    }
    live->mount->Settle();
  }
  // Pages of a branch that no process is in any more have been written.
  if (!had_bound_ && !runs_.IsIn(branch)) return Ok();
  for (BranchSession* each : sessions_.All()) {
    const auto session = each->Mounted();
    if (session && session->Knows(branch)) {
      AGENTFS_TRY(WriteMappedPages(each->point(), session->mappings_written()));
    }
  }
  return Ok();
}

void LiveMounts::BranchReplaced(std::string_view branch) {
  for (const LivePtr& live : Snapshot()) {
    if (live->request.branch != branch) continue;
    live->mount->InvalidateAll();
    live->mount->FlushInvalidations();
  }
  for (BranchSession* each : sessions_.All()) {
    for (const auto& session : each->All()) {
      if (!session->Knows(branch)) continue;
      session->InvalidateAll();
      session->FlushInvalidations();
    }
  }
}

Result<void> LiveMounts::RefreshPermissions() {
  AGENTFS_ASSIGN(const bool other, permissions_.Refresh());
  if (!other) return Ok();
  for (const LivePtr& live : Snapshot()) live->mount->InvalidateAll();
  for (BranchSession* sessions : sessions_.All()) {
    for (const auto& session : sessions->All()) session->InvalidateAll();
  }
  FlushInvalidations();
  return Ok();
}

void LiveMounts::Settle() {
  for (const LivePtr& live : Snapshot()) live->mount->Settle();
}

void LiveMounts::FlushInvalidations() {
  for (const LivePtr& live : Snapshot()) live->mount->FlushInvalidations();
  for (BranchSession* each : sessions_.All()) {
    for (const auto& session : each->All()) session->FlushInvalidations();
  }
}

void LiveMounts::DropEnded() {
  absl::MutexLock changing(&change_mu_);
  for (const LivePtr& live : Snapshot()) {
    if (live->mount->alive()) continue;
    Forget(live);
  }
  for (BranchSession* session : sessions_.All()) session->DropEnded();
}

void LiveMounts::EndHeldBy(uint64_t connection) {
  LoseRun(connection);
  absl::MutexLock changing(&change_mu_);
  for (const LivePtr& live : Snapshot()) {
    if (live->request.held_by == connection) (void)UnmountOne(live, UnmountForce::kYes);
  }
}

void LiveMounts::EndAll() {
  absl::MutexLock changing(&change_mu_);
  for (const LivePtr& live : Snapshot()) {
    auto ended = UnmountOne(live, UnmountForce::kYes);
    if (!ended.ok()) fmt::print(stderr, "{}\n", ended.error().message());
    Forget(live);
  }
  for (BranchSession* session : sessions_.All())
    (void)UnmountSession(*session, UnmountForce::kYes).ok();
}

}  // namespace agentfs::cli
