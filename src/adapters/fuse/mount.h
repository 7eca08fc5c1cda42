// SPDX-License-Identifier: Apache-2.0
//
// A mount: a view (or all branches and snapshots of a volume) shown by the kernel at a mount
// point, from Start until it is unmounted, by us or by somebody else.
//
// Thread-safe. Views are held until the Mount is destroyed. A thread that uses the mount point must
// not be one that the mount waits for: do not call these functions while holding locks that
// requests of the mount may need.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/fuse/transport/mount_point.h"
#include "adapters/fuse/transport/negotiate.h"
#include "adapters/fuse/transport/transport.h"
#include "adapters/fuse/tree.h"
#include "agentfs/filesystem.h"
#include "agentfs/ids.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "vfs/hidden_paths.h"
#include "vfs/rules_in_force.h"

namespace agentfs::fuse {

// How files are opened and their data moved; `bulk` needs privilege. With `audited` each open is a
// message, for the op log.
enum class Profile : uint8_t { kDefault, kBulk, kAudited };

// Who asks through ioctl on .agentfs/control.
struct ControlCaller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t pid = 0;
  std::string view;  // the branch or snapshot whose .agentfs it is: what the caller may act on
};
// A request of the control plane in, its answer out. Called on a request's thread: it must not
// touch the mount itself. Answers of more than kMaxControlBytes cannot be given: EMSGSIZE.
using ControlHandler =
    std::function<Result<std::string>(const ControlCaller& caller, std::string_view request)>;
inline constexpr size_t kMaxControlBytes = 16 * 1024 - 16;

// What is shown.
struct MountSource {
  // The root of the mount. Null: the root is a directory with branches/NAME and snapshots/NAME of
  // the volume, each with node ids of its own; a branch made later appears at once.
  std::shared_ptr<FileSystem> view;
  std::string view_name;  // the branch's or snapshot's
  // For branches/, snapshots/ and .agentfs/snapshots/; it outlives the mount. May be null with a
  // view: no snapshots then.
  Volume* volume = nullptr;
  // Of branches/NAME; may be empty.
  BranchOpened branch_opened;
  // Which paths may be read and written, in every view; null: all of them.
  std::shared_ptr<const RulesInForce> rules;
  // What no view shows; null: all is shown.
  std::shared_ptr<const HiddenPaths> hidden;
};

// Everything that the dispatcher has a use for.
inline Wanted MostWanted() {
  Wanted wanted;
  wanted.features = wanted.features.With(Feature::kOverIoUring).With(Feature::kSetxattrExt);
  return wanted;
}

// Where and how.
struct ServeOptions {
  std::string mount_point;
  MountOptions mount;
  Profile profile = Profile::kDefault;
  Wanted wanted = MostWanted();  // of the kernel; tests leave features out
  TransportOptions transport;
  ControlHandler control;  // may be empty
};

// How often the kernel asked for an operation ("LOOKUP") since Start.
struct OperationCount {
  std::string_view operation;
  uint64_t count = 0;
};
struct MountStats {
  std::vector<OperationCount> operations;  // those that came, most frequent first
  uint64_t inodes = 0;                     // known to the kernel
};

class Mount {
 public:
  // When it returns, the mount point shows the source. Errors say what to do: ENOENT, ENOTDIR,
  // EPERM, ENODEV (no FUSE here), EBUSY, EOPNOTSUPP (the profile).
  static Result<std::unique_ptr<Mount>> Start(MountSource source, ServeOptions options);
  // Unmounts by force if nobody has unmounted, and waits for the requests under way.
  virtual ~Mount() = default;

  // EBUSY while something uses it, with kPlain. The server goes on until the last user has gone.
  virtual Result<void> Unmount(UnmountMode mode) = 0;
  // Whether the kernel still has it.
  virtual bool alive() const = 0;
  // Returns when the kernel has let go of it, or Stop was called. Nobody is told of changes then.
  virtual void WaitUntilEnded() = 0;
  // Serves no longer; whoever still uses it gets errors when the Mount is destroyed.
  virtual void Stop() = 0;

  // Of a mount with all branches: whether the kernel knows anything of the branch.
  virtual bool Knows(std::string_view branch) = 0;
  // Has the kernel forget what it only remembers of it, and waits for that a while. False: it is
  // in use. Not from a request's thread.
  virtual bool Release(std::string_view branch) = 0;

  // The same of names of files in the branch's view. What is known of the files afterwards is used.
  virtual void Forget(std::string_view branch, const std::vector<Touched::Name>& names) = 0;

  virtual const ServeOptions& options() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  virtual std::string_view transport() const = 0;  // "device" or "io_uring"
  virtual MountStats Stats() const = 0;
  // True from the first WRITE on that brought pages of a mapping. Outlives the mount.
  virtual std::shared_ptr<const std::atomic<bool>> mappings_written() const = 0;
  // What programs have written through passthrough so far is in the view when it returns.
  virtual void Settle() = 0;

  // ---- what changed behind the kernel's back. Queued and sent by a thread of the mount's own, in
  // order; may be called from anywhere.

  // Everything (a restore).
  virtual void InvalidateAll() = 0;
  // Returns when everything queued so far has been sent.
  virtual void FlushInvalidations() = 0;
};

}  // namespace agentfs::fuse
