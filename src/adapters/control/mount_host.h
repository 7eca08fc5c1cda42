// SPDX-License-Identifier: Apache-2.0
//
// The mounts of a server, as the control plane sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentfs/op_log.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "workspace/checkpoint.h"

namespace agentfs::control {

struct MountRequest {
  std::string point;     // absolute
  std::string branch;    // empty: main, unless a snapshot is named
  std::string snapshot;  // read-only
  std::string profile = "default";
  bool read_only = false;
  bool allow_other = false;
  uint32_t pid = 0;  // who asks
  // Not 0: unmounted when this connection ends.
  uint64_t held_by = 0;
};

// A process that would be disturbed.
struct MountUser {
  uint32_t pid = 0;
  std::string name;
};

struct MountState {
  std::string point;
  std::string branch, snapshot;  // one of them, or neither: all branches (MountHost::SessionRoot)
  std::string profile;
  bool read_only = false;
  bool allow_other = false;
  std::vector<std::string> capabilities;  // negotiated with the kernel
  std::vector<std::pair<std::string, uint64_t>> operations;
};

// A running process that is to see a branch.
struct BindRequest {
  uint32_t pid = 0;
  std::string branch;   // empty: main
  std::string path;     // where it sees it; empty: where the workspace's base is
  uint32_t caller = 0;  // who asks; 0: this process
};
struct BindState {
  std::string branch, path;
  std::vector<MountUser> processes;  // that see it from now on: all of that mount namespace
  // Not empty: where the process is and still sees what was there before, until it changes to it
  // anew.
  std::string directory;
};
// A process in a mount namespace of its own, and where it sees which branch.
struct BoundProcess {
  uint32_t pid = 0;
  std::string name, branch, path;
};
// A command that is about to run in a sandbox, and lives as long as its connection.
struct RunRequest {
  std::string branch;   // made, from main, if it is missing
  std::string command;  // for people
  uint32_t pid = 0;     // who asks
  uint64_t connection = 0;
  CheckpointFor what = CheckpointFor::kRun;
  std::optional<AuditLevel> audit = std::nullopt;  // none: as the workspace is set
  std::vector<std::string> hidden = {};  // paths of the host that no view of it is to show
};
struct RunState {
  std::string branch;
  bool created = false;    // the branch
  std::string checkpoint;  // the snapshot of what was there before
  uint64_t checkpoint_number = 0;
  bool checkpoint_taken = false;  // for this run: nothing had been like it
  // Not 0: the process whose namespaces have to be joined to see that.
  uint32_t namespaces_of = 0;
  uint64_t exec = 0;  // the row of it
  // Where all branches are mounted: branches/NAME, and host/NAME for the host's root.
  std::string session;
};

enum class UnmountForce : uint8_t {
  kNo,   // EBUSY, naming the users, while something uses it
  kYes,  // out of the tree at once; users get errors
};

// Thread-safe.
class MountHost {
 public:
  virtual ~MountHost() = default;

  // Visible when it returns.
  virtual Result<MountState> Mount(const MountRequest& request) = 0;
  // Everything written through it is in the volume when it returns. ENOENT: not one of ours.
  virtual Result<void> Unmount(std::string_view point, UnmountForce force) = 0;
  virtual std::vector<MountState> List() = 0;
  virtual std::vector<MountUser> Users(std::string_view point) = 0;

  // Gives a run a session's mount point, one that hides what it wants; the branch, which must be
  // there, is in use meanwhile.
  virtual Result<std::string> BeginRun(const RunRequest& request) = 0;
  virtual std::vector<RunRequest> Runs() = 0;
  // Before its connection does.
  virtual void EndRun(uint64_t connection) = 0;
  // What the connection's run does belongs to the exec, until the run ends.
  virtual void NoteExec(uint64_t connection, uint64_t exec, AuditLevel level) = 0;

  // What the kernel has of the branch in its caches and has not written yet (shared mappings)
  // reaches the volume. Must not be called while answering one of the mounts' requests, unless
  // others of their threads are free.
  virtual Result<void> FlushPages(std::string_view branch) = 0;
  // A directory with branches/NAME for every branch, to be bind-mounted where a process is to see
  // it; mounted when first asked for, and there while the server has connections, mounts or users
  // of it.
  virtual Result<std::string> SessionRoot() = 0;
  // Shows a running process of this user's, and all that share its mount namespace, a branch.
  // EPERM: not this user's. EXDEV: everybody would see it, since it has no namespace of its own.
  virtual Result<BindState> Bind(const BindRequest& request) = 0;
  virtual std::vector<BoundProcess> ListBound() = 0;
  // Lets go of a branch that the kernel only remembers. False: it is in use.
  virtual bool Release(std::string_view branch) = 0;

  // The same of names of files: what is known of the files afterwards is in use.
  virtual void Forget(std::string_view branch, const std::vector<Touched::Name>& names) = 0;

  // What programs have written through the mounts is in the volume when this returns.
  virtual void Settle() = 0;
  // What was changed behind the mounts' back shows in them when this returns.
  virtual void FlushInvalidations() = 0;
  // The branch became something else; when this returns, no cache shows what it was.
  virtual void BranchReplaced(std::string_view branch) = 0;
};

}  // namespace agentfs::control
