// SPDX-License-Identifier: Apache-2.0
//
// One of the filesystems that a session shows: a branch, a snapshot, or a virtual directory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/change_observer.h"
#include "agentfs/filesystem.h"

namespace agentfs::fuse {

class Tree;
class VirtualTree;

// Hears what others change in a tree. Must be as quick as a ChangeObserver.
class TreeObserver {
 public:
  virtual ~TreeObserver() = default;
  virtual void Changed(const Tree& tree, const ChangeEvent& event) = 0;
};

// Called when a branch's tree is opened; what it gives is kept as long as the tree.
using BranchOpened =
    std::function<std::shared_ptr<void>(const std::string& name, std::shared_ptr<FileSystem> view)>;

// In seconds, of what the kernel may keep until it is told otherwise.
inline constexpr uint64_t kForever = uint64_t{1} << 30;

// Where the control directory of a view is.
inline constexpr std::string_view kControlName = ".agentfs";

// Lives while an inode of it is known to the kernel. Thread-safe.
class Tree final : public ChangeObserver {
 public:
  enum class Kind : uint8_t {
    kBranch,    // with a control directory; the inode numbers are the nodes' own
    kSnapshot,  // inside another tree: inode numbers that differ from those of the branches
    kVirtual,   // of it only what is fixed is cached, since the rest changes without telling
  };
  // Changes with `origin` are the session's own, which the kernel knows about. The companion goes
  // with the tree. `root` is a directory of the filesystem; null: its own root.
  Tree(Kind kind, std::shared_ptr<FileSystem> filesystem, std::string name, uint64_t origin,
       TreeObserver& observer, std::shared_ptr<void> companion = nullptr, NodeRef root = {});
  ~Tree() override;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  FileSystem& fs() const { return *filesystem_; }
  NodeRef Root() const { return root_ ? root_ : filesystem_->Root(); }
  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  // For st_ino: programs take files with the same number for the same file.
  uint64_t InodeNumber(NodeId node) const { return node.value ^ inode_tag_; }

  // For how many seconds the kernel may keep what it was told.
  uint64_t ValidSeconds() const;
  // Grows with every change by others. What was looked up while it grew may be out of date and
  // must not be kept.
  uint64_t foreign_changes() const { return foreign_changes_.load(std::memory_order_acquire); }

  // The tree of the control directory, once it was asked for.
  std::shared_ptr<Tree> control() const ABSL_LOCKS_EXCLUDED(mu_);
  void SetControl(std::shared_ptr<Tree> control) ABSL_LOCKS_EXCLUDED(mu_);

  void Changed(const ChangeEvent& event) override;

 private:
  const Kind kind_;
  const std::shared_ptr<FileSystem> filesystem_;
  const std::string name_;
  const uint64_t origin_;
  const uint64_t inode_tag_;
  TreeObserver& observer_;
  const std::shared_ptr<void> companion_;
  const NodeRef root_;  // goes before the filesystem
  std::atomic<uint64_t> foreign_changes_{0};
  mutable absl::Mutex mu_;
  std::shared_ptr<Tree> control_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::fuse
