// SPDX-License-Identifier: Apache-2.0
//
// Mount namespaces of other processes: who shares one, what is mounted there, and putting a
// directory there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "sys/fd.h"
#include "sys/mount_table.h"
#include "sys/path_users.h"

namespace agentfs {

// The number of a process's mount namespace; 0: this process may not look, or there is none such.
uint64_t MountNamespaceOf(uint32_t pid);
uint64_t OwnMountNamespace();

// Whether `pid` is `ancestor` or was started by it, directly or not.
bool DescendsFrom(uint32_t pid, uint32_t ancestor);

// A running process and its namespaces, which stay what they were when it was opened: the number
// that named it may become another process's, this does not.
class ForeignProcess {
 public:
  // ESRCH: there is none such. EACCES: this user may not look into it.
  static Result<ForeignProcess> Open(uint32_t pid);

  uint32_t pid() const { return pid_; }
  uint32_t uid() const { return uid_; }  // the real one
  uint64_t mount_namespace() const { return mount_namespace_; }
  // Its current directory, as it sees it; empty: unknown.
  std::string directory() const;

  // Shows `source`, a directory of this process's namespace, over `target` there, for everybody in
  // its mount namespace. What shows at `target` and is a mount with `replaced_device` (as
  // "major:minor"; may be empty) is taken away, without a moment in which neither is seen where
  // the kernel can (6.5). Needs privilege over that namespace: the user's own, or root's. EPERM,
  // ENOENT, ENOTDIR: said of whom.
  Result<void> Bind(const std::string& source, const std::string& target,
                    const std::string& replaced_device) const;

 private:
  ForeignProcess() = default;

  uint32_t pid_ = 0, uid_ = 0;
  uint64_t mount_namespace_ = 0;
  bool own_user_namespace_ = true;  // this process's
  Fd process_, users_, mounts_, root_;
};

// A mount namespace other than this process's.
struct NamespaceMounts {
  std::vector<PathUser> processes;  // in it, by number
  std::vector<MountEntry> mounts;   // of the type and source asked for
};
// Those that this process may look into and that have such mounts. Asks /proc alone.
std::vector<NamespaceMounts> FindForeignMounts(std::string_view type, std::string_view source);

// Processes of a mount namespace, by number.
std::vector<PathUser> ProcessesIn(uint64_t mount_namespace);

}  // namespace agentfs
