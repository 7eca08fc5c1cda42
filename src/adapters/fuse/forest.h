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
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/fuse/tree.h"
#include "adapters/fuse/virtual_tree.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "vfs/hidden_paths.h"
#include "vfs/rules_in_force.h"

namespace agentfs::fuse {

// Thread-safe. Outlives its trees.
class Forest {
 public:
  // Of every view; each may be null.
  struct Limits {
    std::shared_ptr<const RulesInForce> rules;  // what it is held to
    std::shared_ptr<const HiddenPaths> hidden;  // what it does not show
  };

  // `volume` may be null: there are no refs then. Changes of this session bear `origin`. Virtual
  // directories belong to `uid` and `gid`.
  Forest(Volume* volume, uint64_t origin, TreeObserver& observer, uint32_t uid, uint32_t gid,
         Limits limits)
      : volume_(volume),
        origin_(origin),
        observer_(observer),
        uid_(uid),
        gid_(gid),
        limits_(std::move(limits)) {}

  uint64_t origin() const { return origin_; }
  // Before any is opened.
  void SetBranchOpened(BranchOpened opened) { opened_ = std::move(opened); }

  // A view that the session was given, as its root.
  std::shared_ptr<Tree> Adopt(std::shared_ptr<FileSystem> view, std::string name);
  // The root of a session with all branches and snapshots.
  std::shared_ptr<Tree> OpenSessionRoot();
  std::shared_ptr<Tree> OpenControl(Tree& view);
  // ENOENT and whatever the volume says.
  Result<std::shared_ptr<Tree>> OpenRef(const Ref& ref) ABSL_LOCKS_EXCLUDED(mu_);

  // What is open of it: its own tree, and that of the host.
  std::vector<std::shared_ptr<Tree>> FindBranch(std::string_view name) ABSL_LOCKS_EXCLUDED(mu_);
  // Whether it is closed before the time is over.
  bool AwaitClosed(std::string_view branch, absl::Duration patience) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<Ref::Kind, std::string>;

  struct Opened {
    std::weak_ptr<Tree> tree;
    const FileSystem* view = nullptr;  // what the tree shows, before it was guarded
  };

  std::shared_ptr<FileSystem> Guarded(std::shared_ptr<FileSystem> view) const;
  void Close(Tree* tree) ABSL_LOCKS_EXCLUDED(mu_);
  bool IsOpenLocked(const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Tree> MakeVirtual(VirtualTree::Layout layout, std::string name);

  Volume* const volume_;
  const uint64_t origin_;
  TreeObserver& observer_;
  const uint32_t uid_, gid_;
  const Limits limits_;
  BranchOpened opened_;
  absl::Mutex mu_;
  // One tree a ref, so that a node has one id.
  std::map<Key, Opened> trees_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::fuse
