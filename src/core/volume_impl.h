// SPDX-License-Identifier: Apache-2.0
//
// The Volume: names for layers, and the views of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/volume.h"
#include "core/view.h"
#include "core/volume_state.h"

namespace agentfs {

// The layer beneath all others: the base, or an empty root directory.
inline constexpr LayerId kRootLayer{1};

class GarbageCollector;

class VolumeImpl final : public Volume, private BaseObserver {
 public:
  // Volume::Open with a layout for a volume that is made now, to measure layouts.
  static Result<std::unique_ptr<Volume>> Open(std::unique_ptr<Store> store,
                                              std::unique_ptr<BlobStore> blobs,
                                              std::unique_ptr<BaseFs> base,
                                              const VolumeOptions& options,
                                              const ContentLayout& layout);
  explicit VolumeImpl(std::unique_ptr<VolumeState> state) : state_(std::move(state)) {}
  ~VolumeImpl() override;

  // Reads what the store has, or fills an empty one.
  Result<void> Start();

  Result<BranchInfo> CreateBranch(std::string_view name, std::string_view ref) override;
  Result<void> DeleteBranch(std::string_view name) override;
  std::vector<BranchInfo> ListBranches() override;
  Result<SnapshotInfo> CreateSnapshot(std::string_view branch, std::string_view name,
                                      std::string_view message, Durability durability) override;
  Result<void> DeleteSnapshot(std::string_view ref) override;
  std::vector<SnapshotInfo> ListSnapshots() override;
  Result<void> Restore(std::string_view branch, std::string_view ref) override;
  Result<std::shared_ptr<FileSystem>> OpenBranch(std::string_view branch) override;
  Result<std::shared_ptr<FileSystem>> OpenSnapshot(std::string_view ref) override;
  Result<Touched> TouchedBetween(std::string_view from, std::string_view to) override;
  Result<void> FollowBase(std::string_view branch, const std::vector<std::string>& paths,
                          FollowMode mode) override;
  Result<std::vector<std::string>> KeptNames(const std::vector<std::string>& paths) override;
  Result<std::vector<uint64_t>> MovableIdentities(const std::vector<std::string>& paths) override;
  Result<void> BaseMoved(uint64_t identity, const std::string& path) override;
  Result<void> BaseMovedBack(uint64_t identity, const std::string& path) override;
  Result<GcReport> CollectGarbage() override;
  Result<FsckReport> Check(bool repair) override;
  Result<VolumeStats> GetStats() override;
  Result<ViewStats> GetViewStats(std::string_view ref) override;
  Result<void> WriteRecords(const Batch& rows) override;
  Result<std::optional<Row>> GetRecord(TableId table, std::string_view key) override;
  Result<void> ScanRecords(const ScanRange& range, const Store::Visitor& visit) override;
  uint64_t NextRecord(TableId table) override;
  void SetProcessSource(std::shared_ptr<ProcessSource> source) override {
    state_->ops.SetSource(std::move(source));
  }
  AuditLevel GetAuditLevel() const override { return state_->options.audit.level; }
  void StartRecording() override { state_->ops.Activate(); }
  Result<void> DropOpsBefore(uint64_t op) override;
  Result<void> Flush(Durability durability) override;
  Result<void> Close() override;

 private:
  Result<std::string> PlaceIn(NodeId node, const std::string& path);
  struct Branch {
    Layer* layer = nullptr;
    int64_t created_ns = 0;
    std::unique_ptr<View> view;  // stays once opened, with what it knows
  };

  // ---- volume.cc
  Result<void> CheckBlobs();
  Result<void> CreateFirst();
  Result<bool> IsEmpty();
  Result<void> LoadLayers();
  Result<void> LoadNames();
  Result<void> RaiseCounters();
  Result<void> LoadChangedBaseNodes();
  // What a crash has left of growing files, before anybody reads them.
  Result<void> RecoverGrowing() ABSL_LOCKS_EXCLUDED(mu_);
  Result<void> RecoverGrowth(const GrowthMark& mark) ABSL_LOCKS_EXCLUDED(mu_);
  void EndGrowth();
  void StartJournal();
  void AfterCommit();
  // Drops nodes that nobody uses past the number that may be kept.
  void EvictNodesLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<FileSystem> Handle(View* view);
  Result<void> DropIdleViews() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // ---- volume_base.cc
  void BaseChanged(const std::string& directory, std::string_view name) override;
  void BaseLost() override;
  void TellViews(const ChangeEvent& event);
  NodeId BaseNodeAt(const std::string& path);
  // Whether a layer has a record of the node of which `needs` is true.
  Result<bool> AnyRecord(NodeId node, const std::function<bool(const NodeRecord&)>& needs);
  Result<uint64_t> CollectKept();

  // ---- volume_touched.cc
  Result<const Layer*> LayerOf(std::string_view ref) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_)
      ABSL_SHARED_LOCKS_REQUIRED(state_->tree_mu);

  // ---- gc.cc
  Result<void> MergeUnnamed(GarbageCollector& collector) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // ---- volume_refs.cc
  Result<Branch*> FindBranch(std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  SnapshotInfo* FindSnapshot(std::string_view ref) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The layer that `ref` names; a branch's open layer is sealed first.
  Result<Layer*> ResolveSealed(std::string_view ref) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Result<void> CheckNewName(std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Seals the branch's layer and opens a child. Returns what is sealed now, which is the parent
  // if the branch has not changed since.
  Result<Layer*> Seal(const std::string& name, Branch& branch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Finds out whether a layer of an earlier process has any rows.
  Result<void> LookForRows(Layer* layer);
  Layer* AddLayer(Layer* parent);
  BranchInfo InfoOf(const std::string& name, const Branch& branch) const;

  const std::unique_ptr<VolumeState> state_;
  // Guards the names and the set of views. Before every other lock.
  absl::Mutex mu_;
  std::map<std::string, Branch, std::less<>> branches_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, SnapshotInfo> snapshots_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, uint64_t, std::less<>> snapshot_numbers_ ABSL_GUARDED_BY(mu_);
  std::map<LayerId, std::unique_ptr<View>> snapshot_views_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace agentfs
