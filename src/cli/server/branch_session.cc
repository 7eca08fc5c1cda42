// SPDX-License-Identifier: Apache-2.0
#include "cli/server/branch_session.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include "sys/mount_namespaces.h"

namespace agentfs::cli {
namespace {

using control::BindRequest;
using control::BindState;
using control::BoundProcess;

constexpr std::string_view kBranches = "/branches/";
// What the kernel adds to the root of a mount that it has dropped from its cache.
constexpr std::string_view kDropped = "//deleted";

// The branch that a mount of a session shows; empty: none.
std::string BranchOf(const MountEntry& mount) {
  std::string_view root = mount.root;
  if (!root.starts_with(kBranches)) return "";
  root.remove_prefix(kBranches.size());
  if (root.ends_with(kDropped)) root.remove_suffix(kDropped.size());
  return std::string(root);
}

// A directory for us alone: not one that somebody else has put there.
bool MakeOwnDirectory(const std::string& path) {
  struct stat st;
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  if (::lstat(path.c_str(), &st) != 0) return false;
  return S_ISDIR(st.st_mode) && st.st_uid == ::geteuid() && (st.st_mode & 022) == 0;
}

std::string DeviceOf(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return "";
  return fmt::format("{}:{}", major(st.st_dev), minor(st.st_dev));
}

bool IsAtOrBelow(std::string_view path, std::string_view top) {
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

}  // namespace

std::vector<std::string> SessionPlaces() {
  std::vector<std::string> places;
  const char* given = ::getenv("XDG_RUNTIME_DIR");
  if (given != nullptr && given[0] == '/') places.push_back(std::string(given) + "/agentfs");
  if (::geteuid() == 0) places.push_back("/run/agentfs");
  places.push_back(fmt::format("/tmp/agentfs-{}", ::geteuid()));
  return places;
}

Result<std::string> MakeSessionPoint(const Layout& layout, const std::string& name) {
  struct stat database;
  if (::stat(layout.database.c_str(), &database) != 0) return ErrnoError();
  const std::string directory =
      fmt::format("{:x}-{:x}{}", database.st_dev, database.st_ino, name.empty() ? "" : "-" + name);
  for (const std::string& place : SessionPlaces()) {
    if (!MakeOwnDirectory(place)) continue;
    const std::string point = place + "/" + directory;
    if (fuse::StateOfPath(point) == fuse::PathState::kDead) {
      AGENTFS_TRY(fuse::RemoveDeadMount(point));
    }
    if (MakeOwnDirectory(point)) return point;
  }
  return Error(EACCES, "there is no directory to mount all branches at",
               "set XDG_RUNTIME_DIR to a directory of yours");
}

// ---- a mount and who waits for its end

class BranchSession::Served {
 public:
  Served(std::string point, std::unique_ptr<fuse::Mount> mount, std::function<void()> ended)
      : point_(std::move(point)), mount_(std::move(mount)) {
    waiter_ = std::thread([this, told = std::move(ended)] {
      mount_->WaitUntilEnded();
      ended_ = true;
      told();
    });
  }
  ~Served() {
    (void)mount_->Unmount(fuse::UnmountMode::kForced).ok();
    mount_->Stop();
    waiter_.join();
    mount_.reset();
    ::rmdir(point_.c_str());
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  fuse::Mount& mount() { return *mount_; }
  const std::string& point() const { return point_; }
  bool ended() const { return ended_; }

 private:
  const std::string point_;
  std::unique_ptr<fuse::Mount> mount_;
  std::atomic<bool> ended_ = false;
  std::thread waiter_;
};

// ---- the session

BranchSession::BranchSession(Volume& volume, const Layout& layout,
                             std::shared_ptr<const RulesInForce> rules,
                             control::ChangeEvents& changes, SessionKind kind, fuse::Wanted wanted,
                             std::function<void()> ended)
    : volume_(volume),
      layout_(layout),
      rules_(std::move(rules)),
      changes_(changes),
      kind_(std::move(kind)),
      wanted_(wanted),
      ended_(std::move(ended)) {}

BranchSession::~BranchSession() { End(); }

Result<std::shared_ptr<BranchSession::Served>> BranchSession::Start() const {
  AGENTFS_ASSIGN(const std::string point, MakeSessionPoint(layout_, kind_.name));
  fuse::MountSource source;
  source.volume = &volume_;
  source.rules = rules_;
  if (!kind_.hidden.empty()) source.hidden = std::make_shared<HiddenPaths>(kind_.hidden);
  source.branch_opened = [this](const std::string& name, std::shared_ptr<FileSystem> view) {
    return std::static_pointer_cast<void>(changes_.WatchBranch(name, std::move(view)));
  };
  fuse::ServeOptions options;
  options.mount_point = point;
  options.profile = kind_.profile;
  options.mount.source = layout_.root;
  options.wanted = wanted_;
  // Root's command may become other users; nobody else can get to the mount point.
  options.mount.allow_other = ::geteuid() == 0;
  options.control = control_;
  AGENTFS_ASSIGN(auto mount, fuse::Mount::Start(std::move(source), std::move(options)));
  return std::make_shared<Served>(point, std::move(mount), ended_);
}

Result<std::string> BranchSession::Root() {
  absl::MutexLock lock(&mu_);
  if (mounted_ && mounted_->mount().alive()) return mounted_->point();
  if (mounted_) detached_.push_back(std::move(mounted_));  // by somebody else
  AGENTFS_ASSIGN(mounted_, Start());
  return mounted_->point();
}

std::string BranchSession::point() const {
  absl::MutexLock lock(&mu_);
  return mounted_ ? mounted_->point() : "";
}

BranchSession::ServedPtr BranchSession::Mounted() const {
  absl::MutexLock lock(&mu_);
  return mounted_ ? ServedPtr(mounted_, &mounted_->mount()) : nullptr;
}

std::vector<BranchSession::ServedPtr> BranchSession::All() const {
  std::vector<ServedPtr> all;
  absl::MutexLock lock(&mu_);
  if (mounted_) all.push_back({mounted_, &mounted_->mount()});
  for (const auto& served : detached_) {
    if (!served->ended()) all.push_back({served, &served->mount()});
  }
  return all;
}

bool BranchSession::empty() const {
  absl::MutexLock lock(&mu_);
  return !mounted_ && detached_.empty();
}

Result<void> BranchSession::Detach(fuse::UnmountMode mode) {
  absl::MutexLock lock(&mu_);
  if (!mounted_) return Ok();
  AGENTFS_TRY(mounted_->mount().Unmount(mode));
  detached_.push_back(std::move(mounted_));
  return Ok();
}

// Under the lock, so that nobody mounts at the directory that goes with the last of them.
void BranchSession::DropEnded() {
  absl::MutexLock lock(&mu_);
  if (mounted_ && mounted_->ended()) mounted_.reset();
  std::erase_if(detached_, [](const auto& served) { return served->ended(); });
}

void BranchSession::End() {
  std::vector<std::shared_ptr<Served>> all;
  absl::MutexLock lock(&mu_);
  all.swap(detached_);
  if (mounted_) all.push_back(std::move(mounted_));
}

// ---- processes

Result<void> BranchSession::CheckTarget(const BindRequest& request, uint32_t uid,
                                        uint64_t mount_namespace) const {
  if (uid != ::geteuid()) {
    return Error(EPERM, fmt::format("process {} is another user's", request.pid),
                 "bind processes of the user whose server this is");
  }
  const uint64_t own = OwnMountNamespace();
  const bool callers = request.caller != 0 && MountNamespaceOf(request.caller) == mount_namespace &&
                       !DescendsFrom(request.caller, request.pid);
  if (mount_namespace == own || mount_namespace == MountNamespaceOf(1) || callers) {
    return Error(EXDEV,
                 fmt::format("process {} has no mount namespace of its own: everybody would see "
                             "branch {}",
                             request.pid, request.branch),
                 "start it with 'agentfs run', or with 'unshare -m' ('unshare -Urm' if you are "
                 "not root)");
  }
  return Ok();
}

Result<BindState> BranchSession::Bind(const BindRequest& asked) {
  BindRequest request = asked;
  if (request.branch.empty()) request.branch = kMainBranch;
  if (request.path.empty()) request.path = layout_.base;
  if (request.path.empty() || request.path.front() != '/') {
    return Error(EINVAL, "it takes an absolute path to show the branch at",
                 "name one with --path; the workspace has no base whose path it could be");
  }
  while (request.path.size() > 1 && request.path.back() == '/') request.path.pop_back();
  AGENTFS_ASSIGN(const ForeignProcess process, ForeignProcess::Open(request.pid));
  AGENTFS_TRY(CheckTarget(request, process.uid(), process.mount_namespace()));
  AGENTFS_ASSIGN(const std::string root, Root());
  const std::string source = root + std::string(kBranches) + request.branch;
  if (auto view = volume_.OpenBranch(request.branch); !view.ok()) {
    return Error(view.code(), "branch " + request.branch + ": " + view.error().message(),
                 "'agentfs branch list' shows the branches");
  }
  AGENTFS_TRY(process.Bind(source, request.path, DeviceOf(root)));
  BindState state;
  state.branch = request.branch;
  state.path = request.path;
  for (PathUser& user : ProcessesIn(process.mount_namespace())) {
    state.processes.push_back({user.pid, std::move(user.name)});
  }
  const std::string directory = process.directory();
  if (IsAtOrBelow(directory, request.path)) state.directory = directory;
  return state;
}

std::vector<BoundProcess> BranchSession::ListBound() const {
  std::vector<BoundProcess> bound;
  if (empty()) return bound;
  for (const NamespaceMounts& space : FindForeignMounts(fuse::kFilesystemType, layout_.root)) {
    for (size_t i = 0; i < space.mounts.size(); ++i) {
      const MountEntry& mount = space.mounts[i];
      const std::string branch = BranchOf(mount);
      bool covered = false;
      for (size_t later = i + 1; later < space.mounts.size(); ++later) {
        covered |= space.mounts[later].point == mount.point;
      }
      if (branch.empty() || covered) continue;
      for (const PathUser& process : space.processes) {
        bound.push_back({process.pid, process.name, branch, mount.point});
      }
    }
  }
  return bound;
}

bool BranchSession::Release(std::string_view branch) {
  for (const BoundProcess& process : ListBound()) {
    if (process.branch == branch) return false;
  }
  for (const ServedPtr& served : All()) {
    if (served->Release(branch)) continue;
    // Somebody uses it all the same, and is to find it where it was: the kernel looks it up again.
    struct stat st;
    (void)::stat((point() + std::string(kBranches) + std::string(branch)).c_str(), &st);
    return false;
  }
  changes_.Drain();
  return true;
}

}  // namespace agentfs::cli
