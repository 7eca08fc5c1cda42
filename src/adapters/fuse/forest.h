// SPDX-License-Identifier: Apache-2.0
//
// The trees of a session: which filesystem a branch, a snapshot or a control directory is. A tree
// is opened when it is first looked up, and closed with its last inode.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/fuse/tree.h"
#include "adapters/fuse/virtual_tree.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs::fuse {

// Thread-safe.
class Forest {
 public:
  // `volume` may be null: there are no refs then. Changes of this session bear `origin`. Virtual
  // directories belong to `uid` and `gid`.
  Forest(Volume* volume, uint64_t origin, TreeObserver& observer, uint32_t uid, uint32_t gid)
      : volume_(volume), origin_(origin), observer_(observer), uid_(uid), gid_(gid) {}

  uint64_t origin() const { return origin_; }

  // A view that the session was given, as its root.
  std::shared_ptr<Tree> Adopt(std::shared_ptr<FileSystem> view, std::string name);
  // The root of a session with all branches and snapshots.
  std::shared_ptr<Tree> OpenSessionRoot();
  std::shared_ptr<Tree> OpenControl(Tree& view);
  // ENOENT and whatever the volume says.
  Result<std::shared_ptr<Tree>> OpenRef(const Ref& ref) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  std::shared_ptr<Tree> MakeVirtual(VirtualTree::Layout layout, std::string name);

  Volume* const volume_;
  const uint64_t origin_;
  TreeObserver& observer_;
  const uint32_t uid_, gid_;
  absl::Mutex mu_;
  // One tree a ref, so that a node has one id.
  std::map<std::pair<Ref::Kind, std::string>, std::weak_ptr<Tree>> trees_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::fuse
