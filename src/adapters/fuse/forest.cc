// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/forest.h"

#include "vfs/guarded_fs.h"
#include "vfs/hiding_fs.h"

namespace agentfs::fuse {
namespace {

// Where a view has what is outside of the workspace; a mount of the view shows its control
// directory instead.
Result<NodeRef> FindHost(FileSystem& view) {
  NodeRef root = view.Root();
  AGENTFS_ASSIGN(Found reserved, view.Lookup(Caller{}, *root, kControlName));
  AGENTFS_ASSIGN(Found host, view.Lookup(Caller{}, *reserved.node, "host"));
  return std::move(host.node);
}

}  // namespace

std::shared_ptr<FileSystem> Forest::Guarded(std::shared_ptr<FileSystem> view) const {
  if (limits_.rules) view = std::make_shared<GuardedFs>(std::move(view), limits_.rules);
  if (limits_.hidden) view = std::make_shared<HidingFs>(std::move(view), limits_.hidden);
  return view;
}

std::shared_ptr<Tree> Forest::Adopt(std::shared_ptr<FileSystem> view, std::string name) {
  return std::make_shared<Tree>(Tree::Kind::kBranch, Guarded(std::move(view)), std::move(name),
                                origin_, observer_);
}

std::shared_ptr<Tree> Forest::MakeVirtual(VirtualTree::Layout layout, std::string name) {
  return std::make_shared<Tree>(Tree::Kind::kVirtual,
                                std::make_shared<VirtualTree>(layout, volume_, uid_, gid_),
                                std::move(name), origin_, observer_);
}

std::shared_ptr<Tree> Forest::OpenSessionRoot() {
  return MakeVirtual(VirtualTree::Layout::kSession, "");
}

std::shared_ptr<Tree> Forest::OpenControl(Tree& view) {
  if (std::shared_ptr<Tree> control = view.control()) return control;
  view.SetControl(MakeVirtual(VirtualTree::Layout::kControl, view.name()));
  return view.control();
}

Result<std::shared_ptr<Tree>> Forest::OpenRef(const Ref& ref) {
  if (volume_ == nullptr) return Error(ENOENT);
  std::shared_ptr<FileSystem> view;
  if (ref.kind != Ref::Kind::kSnapshot) {
    AGENTFS_ASSIGN(view, volume_->OpenBranch(ref.name));
  } else {
    AGENTFS_ASSIGN(view, volume_->OpenSnapshot(ref.name));
  }
  NodeRef root;
  if (ref.kind == Ref::Kind::kHost) {
    AGENTFS_ASSIGN(root, FindHost(*view));
  }
  std::shared_ptr<Tree> before;  // closing takes the lock
  absl::MutexLock lock(&mu_);
  Opened& slot = trees_[{ref.kind, ref.name}];
  // A ref that was deleted and made again under the same name is another view.
  before = slot.tree.lock();
  if (before && slot.view == view.get()) return before;
  const auto kind = ref.kind == Ref::Kind::kSnapshot ? Tree::Kind::kSnapshot : Tree::Kind::kBranch;
  std::shared_ptr<void> companion;
  if (opened_ && kind == Tree::Kind::kBranch) companion = opened_(ref.name, view);
  const FileSystem* shown = view.get();
  std::shared_ptr<Tree> tree(new Tree(kind, Guarded(std::move(view)), ref.name, origin_, observer_,
                                      std::move(companion), std::move(root)),
                             [this](Tree* closed) { Close(closed); });
  slot = {tree, shown};
  return tree;
}

// Whoever waits for it looks again when the lock is given back.
void Forest::Close(Tree* tree) {
  delete tree;
  absl::MutexLock lock(&mu_);
}

bool Forest::IsOpenLocked(const Key& key) const {
  const auto it = trees_.find(key);
  return it != trees_.end() && !it->second.tree.expired();
}

std::vector<std::shared_ptr<Tree>> Forest::FindBranch(std::string_view name) {
  std::vector<std::shared_ptr<Tree>> found;
  absl::MutexLock lock(&mu_);
  for (const auto kind : {Ref::Kind::kBranch, Ref::Kind::kHost}) {
    const auto it = trees_.find({kind, std::string(name)});
    if (it == trees_.end()) continue;
    if (auto tree = it->second.tree.lock()) found.push_back(std::move(tree));
  }
  return found;
}

bool Forest::AwaitClosed(std::string_view branch, absl::Duration patience) {
  const Key key{Ref::Kind::kBranch, std::string(branch)};
  const Key host{Ref::Kind::kHost, std::string(branch)};
  absl::MutexLock lock(&mu_);
  const auto closed = [this, &key, &host]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !IsOpenLocked(key) && !IsOpenLocked(host);
  };
  return mu_.AwaitWithTimeout(absl::Condition(&closed), patience);
}

}  // namespace agentfs::fuse
