// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/forest.h"

namespace agentfs::fuse {

std::shared_ptr<Tree> Forest::Adopt(std::shared_ptr<FileSystem> view, std::string name) {
  return std::make_shared<Tree>(Tree::Kind::kBranch, std::move(view), std::move(name), origin_,
                                observer_);
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
  if (ref.kind == Ref::Kind::kBranch) {
    AGENTFS_ASSIGN(view, volume_->OpenBranch(ref.name));
  } else {
    AGENTFS_ASSIGN(view, volume_->OpenSnapshot(ref.name));
  }
  absl::MutexLock lock(&mu_);
  std::weak_ptr<Tree>& slot = trees_[{ref.kind, ref.name}];
  // A ref that was deleted and made again under the same name is another view.
  std::shared_ptr<Tree> tree = slot.lock();
  if (tree && &tree->fs() == view.get()) return tree;
  const auto kind = ref.kind == Ref::Kind::kBranch ? Tree::Kind::kBranch : Tree::Kind::kSnapshot;
  tree = std::make_shared<Tree>(kind, std::move(view), ref.name, origin_, observer_);
  slot = tree;
  return tree;
}

}  // namespace agentfs::fuse
