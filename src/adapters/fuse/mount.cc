// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/mount.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "adapters/fuse/dispatcher.h"
#include "adapters/fuse/forest.h"
#include "adapters/fuse/inode_table.h"
#include "adapters/fuse/invalidator.h"
#include "adapters/fuse/transport/connection.h"
#include "adapters/fuse/transport/notifier.h"

namespace agentfs::fuse {
namespace {

// How long the kernel's forgetting may be on its way.
constexpr absl::Duration kForgetPatience = absl::Seconds(1);
// The same, where what is used is expected not to be forgotten.
constexpr absl::Duration kUsedPatience = absl::Milliseconds(100);

// Tells this process's mounts apart where the same view is shown twice.
uint64_t NextOrigin() {
  static std::atomic<uint64_t> next{1};
  return (uint64_t{static_cast<uint32_t>(::getpid())} << 32) | next.fetch_add(1);
}

// Passthrough needs real opens, and with them truncating can be a part of opening. Who opens a file
// first decides how it is written until the last RELEASE, which over io_uring may come after the
// next OPEN.
Features ForBulk(Features features) {
  return features.With(Feature::kPassthrough)
      .With(Feature::kAtomicTruncate)
      .Without(Feature::kNoOpen)
      .Without(Feature::kOverIoUring);
}

Error NoBulk(const std::string& why) {
  return Error(EOPNOTSUPP, "the bulk profile cannot be used: " + why,
               "it takes root and a kernel with passthrough; mount with the default profile");
}

class MountImpl final : public Mount {
 public:
  MountImpl(MountSource source, ServeOptions options, MountPoint point, const Capabilities& agreed)
      : options_(std::move(options)),
        capabilities_(agreed),
        forest_(source.volume, NextOrigin(), invalidator_, ::geteuid(), ::getegid(),
                {std::move(source.rules), std::move(source.hidden)}),
        root_(source.view ? forest_.Adopt(std::move(source.view), std::move(source.view_name))
                          : forest_.OpenSessionRoot()),
        inodes_(root_, root_->fs().Root()),
        names_(agreed.CanExpireAll() ? nullptr : std::make_unique<KnownNames>()),
        point_(std::move(point)),
        direct_(agreed.Has(Feature::kPassthrough)
                    ? std::make_unique<DirectFiles>(point_.device(), forest_.origin())
                    : nullptr),
        opens_(options_.profile == Profile::kAudited ? std::make_unique<OpenFiles>() : nullptr),
        dispatcher_(forest_, inodes_, invalidator_, {names_.get(), direct_.get(), opens_.get()},
                    agreed, options_.control),
        notifier_(point_.device(), agreed) {
    forest_.SetBranchOpened(std::move(source.branch_opened));
  }
  ~MountImpl() override;

  Result<void> Serve();

  Result<void> Unmount(UnmountMode mode) override ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return point_.Unmount(mode);
  }
  bool alive() const override ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return point_.IsMounted();
  }
  void WaitUntilEnded() override {
    transport_->Wait();
    invalidator_.Cease();
  }
  void Stop() override { transport_->Stop(); }
  bool Knows(std::string_view branch) override { return !forest_.FindBranch(branch).empty(); }
  bool Release(std::string_view branch) override;
  void Forget(std::string_view branch, const std::vector<Touched::Name>& names) override;

  const ServeOptions& options() const override { return options_; }
  const fuse::Capabilities& capabilities() const override { return capabilities_; }
  std::string_view transport() const override { return transport_->name(); }
  void Settle() override {
    if (direct_) direct_->SettleAll();
  }
  std::shared_ptr<const std::atomic<bool>> mappings_written() const override {
    return dispatcher_.mappings_written();
  }
  MountStats Stats() const override { return {dispatcher_.Counts(), inodes_.size()}; }

  void InvalidateAll() override { invalidator_.All(); }
  void FlushInvalidations() override { invalidator_.Flush(); }

 private:
  const ServeOptions options_;
  const fuse::Capabilities capabilities_;
  Invalidator invalidator_;
  Forest forest_;
  std::shared_ptr<Tree> root_;
  InodeTable inodes_;
  const std::unique_ptr<KnownNames> names_;  // null: not needed
  mutable absl::Mutex mu_;                   // for the mount point
  MountPoint point_;
  std::unique_ptr<DirectFiles> direct_;     // null: no passthrough
  const std::unique_ptr<OpenFiles> opens_;  // null: nobody wants to know of opens
  Dispatcher dispatcher_;
  DeviceNotifier notifier_;
  std::unique_ptr<Transport> transport_;
};

Result<void> MountImpl::Serve() {
  if (direct_ && root_->kind() != Tree::Kind::kVirtual) {
    auto possible = direct_->Probe(root_->fs());
    // A view that cannot be written needs none.
    if (!possible.ok() && possible.code() != EOPNOTSUPP) return NoBulk(possible.error().message());
  }
  AGENTFS_ASSIGN(transport_,
                 StartTransport(point_.device(), capabilities_, dispatcher_, options_.transport));
  invalidator_.Start(inodes_, notifier_, names_.get(), direct_.get());
  return Ok();
}

bool MountImpl::Release(std::string_view branch) {
  for (const std::shared_ptr<Tree>& tree : forest_.FindBranch(branch)) {
    const uint64_t parent = inodes_.ParentOf(*tree, tree->Root()->id());
    // Its last component is what the kernel has it under.
    if (parent != 0) invalidator_.Drop(parent, branch.substr(branch.rfind('/') + 1));
  }
  return forest_.AwaitClosed(branch, kForgetPatience);
}

void MountImpl::Forget(std::string_view branch, const std::vector<Touched::Name>& names) {
  std::vector<std::shared_ptr<Tree>> trees = forest_.FindBranch(branch);
  if (root_->kind() == Tree::Kind::kBranch && root_->name() == branch) trees.push_back(root_);
  std::vector<std::pair<const Tree*, NodeId>> known;
  for (const std::shared_ptr<Tree>& tree : trees) {
    for (const Touched::Name& name : names) {
      const uint64_t parent = inodes_.Find(*tree, name.parent);
      if (parent == 0 || inodes_.Find(*tree, name.node) == 0) continue;
      invalidator_.Drop(parent, name.name);
      known.emplace_back(tree.get(), name.node);
    }
  }
  if (known.empty()) return;
  invalidator_.Flush();
  // It tells of each, and nothing tells that it has told of the last.
  for (const absl::Time end = absl::Now() + kUsedPatience; absl::Now() < end;) {
    std::erase_if(known,
                  [&](const auto& each) { return inodes_.Find(*each.first, each.second) == 0; });
    if (known.empty()) return;
    absl::SleepFor(absl::Milliseconds(1));
  }
}

MountImpl::~MountImpl() {
  if (transport_ != nullptr) {
    (void)Unmount(UnmountMode::kForced).ok();
    transport_->Stop();
  }
  invalidator_.Cease();
  point_.CloseDevice();
  invalidator_.Stop();
  direct_.reset();
}

}  // namespace

Result<std::unique_ptr<Mount>> Mount::Start(MountSource source, ServeOptions options) {
  // With rules, opening what they deny is to fail, not reading it.
  if (source.rules && source.rules->Get()) {
    options.wanted.features = options.wanted.features.Without(Feature::kNoOpen);
  }
  if (options.profile == Profile::kBulk) options.wanted.features = ForBulk(options.wanted.features);
  if (options.profile == Profile::kAudited) {
    options.wanted.features = options.wanted.features.Without(Feature::kNoOpen);
  }
  AGENTFS_ASSIGN(Connection made, Connect(options.mount_point, options.mount, options.wanted));
  const fuse::Capabilities& agreed = made.agreed;
  if (options.profile == Profile::kBulk && !agreed.Has(Feature::kPassthrough)) {
    return NoBulk("this kernel has no passthrough (Linux 6.9)");
  }
  auto mount = std::make_unique<MountImpl>(std::move(source), std::move(options),
                                           std::move(made.point), agreed);
  AGENTFS_TRY(mount->Serve());
  return std::unique_ptr<Mount>(std::move(mount));
}

}  // namespace agentfs::fuse
