// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/tree.h"

#include <utility>

namespace agentfs::fuse {
namespace {

constexpr uint64_t kSoon = 1;

// The same for a name at every mount: inode numbers survive it.
uint64_t TagOf(Tree::Kind kind, std::string_view name) {
  if (kind == Tree::Kind::kBranch) return 0;
  uint64_t hash = 0xCBF29CE484222325u + static_cast<uint64_t>(kind);
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001B3u;
  hash ^= hash >> 29;
  return (hash * 0x9E3779B97F4A7C15u) >> 1;
}

}  // namespace

Tree::Tree(Kind kind, std::shared_ptr<FileSystem> filesystem, std::string name, uint64_t origin,
           TreeObserver& observer, std::shared_ptr<void> companion, NodeRef root)
    : kind_(kind),
      filesystem_(std::move(filesystem)),
      name_(std::move(name)),
      origin_(origin),
      inode_tag_(TagOf(kind, name_)),
      observer_(observer),
      companion_(std::move(companion)),
      root_(std::move(root)) {
  filesystem_->AddObserver(*this);
}

Tree::~Tree() { filesystem_->RemoveObserver(*this); }

uint64_t Tree::ValidSeconds() const {
  if (kind_ == Kind::kVirtual) return 0;
  return filesystem_->ObserversHearAll() ? kForever : kSoon;
}

std::shared_ptr<Tree> Tree::control() const {
  absl::MutexLock lock(&mu_);
  return control_;
}

void Tree::SetControl(std::shared_ptr<Tree> control) {
  absl::MutexLock lock(&mu_);
  if (!control_) control_ = std::move(control);
}

void Tree::Changed(const ChangeEvent& event) {
  if (event.origin == origin_) return;
  foreign_changes_.fetch_add(1, std::memory_order_acq_rel);
  observer_.Changed(*this, event);
}

}  // namespace agentfs::fuse
