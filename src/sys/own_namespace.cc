// SPDX-License-Identifier: Apache-2.0
#include "sys/own_namespace.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "sys/fd.h"

namespace agentfs {
namespace {

std::atomic<bool> in_own_namespace = false;

Result<void> WriteProc(const char* path, const std::string& text) {
  AGENTFS_ASSIGN(Fd fd, OpenAt(AT_FDCWD, path, O_WRONLY));
  if (::write(fd.get(), text.data(), text.size()) < 0) return ErrnoError().WithContext(path);
  return Ok();
}

}  // namespace

Result<void> EnterOwnNamespace() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return ErrnoError().WithContext("making a namespace");
  }
  AGENTFS_TRY(WriteProc("/proc/self/setgroups", "deny"));
  AGENTFS_TRY(WriteProc("/proc/self/uid_map", fmt::format("{0} {0} 1", user)));
  AGENTFS_TRY(WriteProc("/proc/self/gid_map", fmt::format("{0} {0} 1", group)));
  // What the host mounts later is seen here; what is mounted here stays here.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return ErrnoError();
  in_own_namespace = true;
  return Ok();
}

bool IsInOwnNamespace() { return in_own_namespace; }

Result<void> JoinNamespacesOf(uint32_t pid) {
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored);
  AGENTFS_ASSIGN(const Fd users, OpenAt(AT_FDCWD, fmt::format("/proc/{}/ns/user", pid), O_RDONLY));
  AGENTFS_ASSIGN(const Fd mounts, OpenAt(AT_FDCWD, fmt::format("/proc/{}/ns/mnt", pid), O_RDONLY));
  if (::setns(users.get(), CLONE_NEWUSER) != 0 || ::setns(mounts.get(), CLONE_NEWNS) != 0) {
    return ErrnoError().WithContext("joining the server's namespace");
  }
  if (::chdir(here.c_str()) != 0) return ErrnoError().WithContext(here);
  return Ok();
}

}  // namespace agentfs
