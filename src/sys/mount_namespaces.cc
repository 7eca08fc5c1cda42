// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_namespaces.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>
#include <fstream>
#include <map>

namespace agentfs {
namespace {

constexpr unsigned kMoveBeneath = 0x200;  // MOVE_MOUNT_BENEATH, Linux 6.5

std::string ProcPath(uint32_t pid, std::string_view name) {
  return fmt::format("/proc/{}/{}", pid, name);
}

uint64_t InodeOf(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

// The number behind "Name:" in /proc/PID/status.
Result<uint32_t> StatusNumber(uint32_t pid, std::string_view name) {
  std::ifstream status(ProcPath(pid, "status"));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name)) continue;
    const size_t digit = line.find_first_of("0123456789", name.size());
    uint32_t number = 0;
    if (digit == std::string::npos) break;
    std::from_chars(line.data() + digit, line.data() + line.size(), number);
    return number;
  }
  return Error(ESRCH);
}

template <typename Visit>
void EachProcess(const Visit& visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename();
    uint32_t pid = 0;
    const auto [rest, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong == std::errc() && rest == name.data() + name.size()) visit(pid);
  }
}

PathUser UserOf(uint32_t pid) {
  PathUser user{pid, ""};
  std::ifstream comm(ProcPath(pid, "comm"));
  std::getline(comm, user.name);
  return user;
}

void Sort(std::vector<PathUser>& users) {
  std::sort(users.begin(), users.end(),
            [](const PathUser& a, const PathUser& b) { return a.pid < b.pid; });
}

// ---- what the child does: system calls only, since other threads of the parent may hold any lock

enum class Step : int { kDone, kUsers, kSource, kEnter, kTarget };

struct Failure {
  Step step;
  int code;
};

struct Job {
  const char* source;
  const char* target;
  int users;  // -1: the same as ours
  int mounts, root;
  bool replace;
};

// A copy of the mount at `source`, attached to nothing.
int CloneTree(const char* source) {
  return ::open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

int Attach(const Job& job, int tree) {
  if (job.replace &&
      ::move_mount(tree, "", AT_FDCWD, job.target, MOVE_MOUNT_F_EMPTY_PATH | kMoveBeneath) == 0) {
    return ::umount2(job.target, MNT_DETACH | UMOUNT_NOFOLLOW);
  }
  return ::move_mount(tree, "", AT_FDCWD, job.target, MOVE_MOUNT_F_EMPTY_PATH);
}

Failure Work(const Job& job) {
  if (job.users >= 0) {
    // There we may mount, but not here: a copy of our namespace that belongs there is ours to use.
    if (::setns(job.users, CLONE_NEWUSER) != 0) return {Step::kUsers, errno};
    if (::unshare(CLONE_NEWNS) != 0) return {Step::kUsers, errno};
  }
  const int tree = CloneTree(job.source);
  if (tree < 0) return {Step::kSource, errno};
  if (::setns(job.mounts, CLONE_NEWNS) != 0) return {Step::kEnter, errno};
  if (::fchdir(job.root) != 0 || ::chroot(".") != 0) return {Step::kEnter, errno};
  if (Attach(job, tree) != 0) return {Step::kTarget, errno};
  return {Step::kDone, 0};
}

// Entering a user namespace takes a process with one thread.
Result<Failure> InAChild(const Job& job) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError();
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return ErrnoError();
  if (child == 0) {
    const Failure failure = Work(job);
    (void)!::write(to.get(), &failure, sizeof(failure));
    ::_exit(0);
  }
  to.Reset();
  Failure failure{Step::kEnter, EIO};
  ssize_t got;
  do {
    got = ::read(from.get(), &failure, sizeof(failure));
  } while (got < 0 && errno == EINTR);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return failure;
}

Error Explain(const Failure& failure, uint32_t pid, const Job& job) {
  const std::string why = Error(failure.code).message();
  if (failure.code == EPERM || failure.code == EACCES) {
    return Error(EPERM,
                 fmt::format("mounting for process {} is not allowed: {}", pid,
                             failure.step == Step::kSource ? job.source : "its mount namespace"),
                 "start it with 'agentfs run', or in a user namespace of its own: unshare -Urm");
  }
  if (failure.step == Step::kTarget) {
    return Error(failure.code, fmt::format("process {} cannot have {}: {}", pid, job.target, why),
                 failure.code == ENOENT ? "make that directory where the process sees it" : "");
  }
  if (failure.step == Step::kSource) return Error(failure.code).WithContext(job.source);
  return Error(failure.code,
               fmt::format("cannot enter the namespaces of process {}: {}", pid, why));
}

}  // namespace

uint64_t MountNamespaceOf(uint32_t pid) { return InodeOf(ProcPath(pid, "ns/mnt")); }
uint64_t OwnMountNamespace() { return InodeOf("/proc/self/ns/mnt"); }

bool DescendsFrom(uint32_t pid, uint32_t ancestor) {
  while (pid != 0 && pid != ancestor) {
    auto parent = StatusNumber(pid, "PPid:");
    if (!parent.ok()) return false;
    pid = *parent;
  }
  return pid != 0;
}

Result<ForeignProcess> ForeignProcess::Open(uint32_t pid) {
  const auto missing = [pid](const Error& error) {
    if (error.code() == ENOENT || error.code() == ESRCH || error.code() == EINVAL) {
      return Error(ESRCH, fmt::format("there is no process {}", pid));
    }
    return Error(error.code(), fmt::format("process {}: {}", pid, error.message()));
  };
  ForeignProcess process;
  process.pid_ = pid;
  process.process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.process_) return missing(ErrnoError());
  auto uid = StatusNumber(pid, "Uid:");
  if (!uid.ok()) return missing(uid.error());
  process.uid_ = *uid;
  const struct {
    const char* name;
    Fd& fd;
    int flags;
  } parts[] = {{"ns/user", process.users_, O_RDONLY},
               {"ns/mnt", process.mounts_, O_RDONLY},
               {"root", process.root_, O_PATH | O_DIRECTORY}};
  for (const auto& part : parts) {
    auto fd = OpenAt(AT_FDCWD, ProcPath(pid, part.name), part.flags);
    if (!fd.ok()) return missing(fd.error());
    part.fd = std::move(fd).value();
  }
  AGENTFS_ASSIGN(const struct stat mounts, StatFd(process.mounts_.get()));
  AGENTFS_ASSIGN(const struct stat users, StatFd(process.users_.get()));
  process.mount_namespace_ = mounts.st_ino;
  process.own_user_namespace_ = users.st_ino == InodeOf("/proc/self/ns/user");
  // If it still runs, all that was of this process and no other.
  struct pollfd ended = {process.process_.get(), POLLIN, 0};
  if (::poll(&ended, 1, 0) != 0) return missing(Error(ESRCH));
  return process;
}

std::string ForeignProcess::directory() const {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(ProcPath(pid_, "cwd").c_str(), target, sizeof(target));
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : std::string();
}

Result<void> ForeignProcess::Bind(const std::string& source, const std::string& target,
                                  const std::string& replaced_device) const {
  Job job{source.c_str(), target.c_str(), own_user_namespace_ ? -1 : users_.get(),
          mounts_.get(),  root_.get(),    false};
  if (auto table = ReadMountTableOf(pid_); table.ok()) {
    for (const MountEntry& entry : *table) {
      if (entry.point != target) continue;
      job.replace = fmt::format("{}:{}", entry.major, entry.minor) == replaced_device;
    }
  }
  AGENTFS_ASSIGN(const Failure failure, InAChild(job));
  if (failure.step != Step::kDone) return Explain(failure, pid_, job);
  return Ok();
}

std::vector<NamespaceMounts> FindForeignMounts(std::string_view type, std::string_view source) {
  std::map<uint64_t, std::vector<PathUser>> namespaces;
  const uint64_t own = OwnMountNamespace();
  EachProcess([&](uint32_t pid) {
    const uint64_t of = MountNamespaceOf(pid);
    if (of != 0 && of != own) namespaces[of].push_back({pid, ""});
  });
  std::vector<NamespaceMounts> found;
  for (auto& [number, processes] : namespaces) {
    auto table = ReadMountTableOf(processes.front().pid);
    if (!table.ok()) continue;  // it has just ended
    std::erase_if(*table, [&](const MountEntry& entry) {
      return entry.type != type || entry.source != source;
    });
    if (table->empty()) continue;
    for (PathUser& process : processes) process = UserOf(process.pid);
    Sort(processes);
    found.push_back({std::move(processes), std::move(*table)});
  }
  return found;
}

std::vector<PathUser> ProcessesIn(uint64_t mount_namespace) {
  std::vector<PathUser> users;
  EachProcess([&](uint32_t pid) {
    if (MountNamespaceOf(pid) == mount_namespace) users.push_back(UserOf(pid));
  });
  Sort(users);
  return users;
}

}  // namespace agentfs
