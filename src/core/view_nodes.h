// SPDX-License-Identifier: Apache-2.0
//
// The nodes of one view, between memory, layers, base and journal: loads the visible version of
// what is asked for, and appends the records of what was changed. It knows no semantics.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "agentfs/filesystem.h"
#include "core/journal.h"
#include "core/layer_tree.h"
#include "core/node.h"
#include "core/node_table.h"
#include "core/records.h"
#include "core/volume_state.h"

namespace agentfs {

// The id of the node that a file of the base is.
inline NodeId BaseNodeId(uint64_t identity) {
  return NodeId(kBaseNodeBit | (identity & (kBaseNodeBit - 1)));
}
// Whether the base's error only says that there is nothing to see.
inline bool MeansAbsent(int code) {
  return code == ENOENT || code == ENOTDIR || code == ELOOP || code == ENAMETOOLONG ||
         code == ESTALE || code == EXDEV;
}
// A name in a directory of the base.
std::string JoinBasePath(const std::string& directory, std::string_view name);

// Makes the path of what a record has as its base the present one, if an apply has moved it.
void FollowMove(VolumeState& volume, NodeId node, uint32_t mode, const BaseSignature& signature,
                std::string* path);

enum class LockMode : uint8_t { kShared, kExclusive };

// Functions named ...Locked need the node's lock, exclusive unless they say otherwise.
class ViewNodes {
 public:
  enum class Access : uint8_t { kReadWrite, kReadOnly };
  ViewNodes(VolumeState& volume, Layer* layer, Access access);
  ~ViewNodes();

  VolumeState& volume() { return volume_; }
  const VolumeState& volume() const { return volume_; }
  Journal& journal() { return *volume_.journal; }
  Layer* layer() const { return layer_.load(std::memory_order_acquire); }
  // Where changes go. Stable under a Journal::Change.
  LayerId open_layer() const { return layer()->id; }
  NodeTable& table() { return table_; }
  bool read_only() const { return access_ == Access::kReadOnly; }

  // ---- loading. All may wait for the store or the base.

  // Locks the node, loaded. ESTALE if it is no more; then it is not locked.
  Result<void> Acquire(ViewNode& node, LockMode mode) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void Release(ViewNode& node, LockMode mode) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // The node that the base has at `path`, in the directory `parent`, loaded. `stamp`: of before the
  // base was asked (BaseStamp).
  Result<NodeRef> GetBaseNode(std::string path, const BaseStat& stat, NodeId parent,
                              uint64_t stamp = 0);
  // The directory that `node`, a directory, is in; the root's is the root. Takes locks.
  Result<NodeRef> ParentOf(ViewNode& node);
  // Asks the base where the attributes are the base's, unless the node has them fresh.
  Result<Attr> AttrLocked(ViewNode& node);  // shared will do for a node with a record
  // The same for who has just asked the base.
  Result<Attr> AttrLocked(ViewNode& node, const std::optional<BaseStat>& stat);

  // ---- what the base said before. It need not be asked again while it would have told of a
  // change.

  // To be taken before the base is asked about a directory's entries, or the directory itself;
  // 0: its changes are not told.
  uint64_t BaseStamp(const ViewNode& directory) const;
  // The stamp that what is fresh has; 0: nothing is.
  uint64_t FreshStamp() const;
  // Whether the base still is what the node, or a directory's listing, has of it. Shared will do.
  static bool IsFreshLocked(const ViewNode& node, uint64_t fresh) {
    return fresh != 0 && node.base != nullptr && node.base->stamp == fresh &&
           node.state == ViewNode::State::kLoaded;
  }
  // The attributes of a fresh node without record. Shared will do.
  static Attr FreshAttrLocked(const ViewNode& node);
  // The node is what the base says.
  void FillFromBase(ViewNode& node, std::string path, const BaseStat& stat, uint64_t stamp = 0);

  Result<void> LoadDirectoryLocked(ViewNode& directory);
  // Of a node that has a record, or is about to get one.
  Result<void> LoadXattrsLocked(ViewNode& node);
  Result<void> LoadChunkLocked(ViewNode& node, uint64_t index);
  // A whole chunk that is not in memory, without keeping it; false: there is no row of it.
  Result<bool> ReadChunkLocked(ViewNode& node, uint64_t index, uint64_t offset,
                               std::span<char> out);
  Result<Span*> LoadSpanLocked(ViewNode& node, uint64_t index);
  // The indexes at or after `first` that have a visible row, also in memory.
  Result<std::vector<uint64_t>> RowsFromLocked(ViewNode& node, TableId table, uint64_t first);

  // ---- originals (originals.cc): of a small text file of the base that the branch replaces, what
  // the base had, so that it can be merged three-way with what the base has later.

  // "<path in the base>\0<content>" of what is at `path` now; null: not worth keeping.
  Result<Buffer> ReadOriginal(const std::string& path);
  // Puts it in the node's place; null: nothing. The node has a record.
  void PutOriginal(Journal::Change& change, ViewNode& node, const Buffer& original);
  // What was put; null: nothing.
  Result<Buffer> OriginalLocked(ViewNode& node);

  // ---- changing

  // Before the change: whatever a record of the node needs is in memory (copy-up).
  Result<void> PrepareRecordLocked(ViewNode& node);
  // Before its content is changed: if that is the base's, what the base has now.
  Result<void> RefreshBaseLocked(ViewNode& node);
  // The node's record, as it is in memory now. Marks the node as having one.
  void PutNode(Journal::Change& change, ViewNode& node);
  void PutXattr(Journal::Change& change, ViewNode& node, std::string_view name,
                const Buffer* value);
  // The branch says nothing of the node any more: it is gone. One of the base's is to be filled
  // from there, under the same lock: until the batch is committed the store says what it said
  // before. Its xattrs are loaded.
  void PutForgotten(Journal::Change& change, ViewNode& node);
  // The node has lost its last name (nlink is 0): its rows go now, or when its last user goes.
  void PutUnlinked(Journal::Change& change, ViewNode& node);
  // The node, made without a name, gets one.
  void PutRelinked(Journal::Change& change, ViewNode& node);
  // The node's present content is not needed any more; it gets a new, empty one.
  void DropContent(Journal::Change& change, ViewNode& node);
  // Bytes kept by rows and objects of the open layer; and those that the node's content takes.
  void CountStored(int64_t bytes);
  void SetSize(ViewNode& node, uint64_t size);

  // ---- memory
  void NodeDropped(ViewNode& node);
  // Drops unused clean nodes until `wanted` are gone or all were looked at.
  void Evict(size_t wanted);
  bool DropChunk(NodeId node, uint64_t index);
  void ChunkLoaded(ViewNode& node, uint64_t index);

  // ---- for the volume
  // Under Journal::Exclusive: changes go to `layer`, a child of the present one.
  void SealInto(Layer* layer) { layer_.store(layer, std::memory_order_release); }
  // Forgets everything; from now on this is the view of `layer`. No operation may be under way.
  void Reset(Layer* layer, uint64_t batch);
  // The ancestors' rows are in the store only once this batch is committed.
  void NeedBatch(uint64_t batch) { needed_batch_ = batch; }

 private:
  using RowReader = std::function<Result<void>(const RowView&, LayerId)>;
  using GroupReader = std::function<Result<void>(const RowView&, LayerId, bool older)>;
  // The visible one of the rows below `prefix`, which differ only in the layer; false: none.
  Result<bool> FindNearest(TableId table, const std::string& prefix, const RowReader& read,
                           BlobAccess blobs = BlobAccess::kWhole);
  // The visible row of each group of rows in the range that differ only in the layer; `older`:
  // there is a version below it.
  Result<void> ScanNearest(const ScanRange& range, const GroupReader& read);
  Result<void> LoadLocked(ViewNode& node);
  Result<bool> LoadRecordLocked(ViewNode& node);
  Result<void> LoadRootLocked(ViewNode& root);
  void FillFromRecord(ViewNode& node, NodeRecord record, LayerId layer);
  Result<BaseStat> StatBaseLocked(const ViewNode& node);
  void ApplyCopyUpPolicy(ViewNode& node);
  NodeRecord ToRecord(const ViewNode& node) const;
  void CountNode(const ViewNode& node, int64_t sign);
  // Where the node was born that a row of the layer says is forgotten, and which is about to be
  // replaced; none: there is no such row.
  std::optional<LayerId> TakeForgotten(NodeId node, LayerId layer);
  bool IsSimpleLocked(const ViewNode& node) const;
  bool HasOneChunkLocked(const ViewNode& node) const;
  void RemoveNow(Journal::Change& change, ViewNode& node);
  void PutOrphan(Journal::Change& change, ViewNode& node);
  void EvictChildren(ViewNode& directory, size_t* wanted);

  VolumeState& volume_;
  const Access access_;
  std::atomic<Layer*> layer_;
  std::atomic<uint64_t> needed_batch_{0};
  NodeTable table_;
  // Nodes whose row in this layer says that they are forgotten.
  absl::Mutex forgotten_mu_;
  struct Forgotten {
    LayerId layer, born;
  };
  absl::flat_hash_map<NodeId, Forgotten> forgotten_ ABSL_GUARDED_BY(forgotten_mu_);
};

// A lock on a loaded node.
class NodeLock {
 public:
  static Result<NodeLock> Take(ViewNodes& nodes, ViewNode& node, LockMode mode) {
    AGENTFS_TRY(nodes.Acquire(node, mode));
    return NodeLock(&node, mode);
  }
  // For a node that the caller has locked exclusively.
  static NodeLock Adopt(ViewNode& node) { return NodeLock(&node, LockMode::kExclusive); }
  NodeLock(NodeLock&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)), mode_(other.mode_) {}
  NodeLock& operator=(NodeLock&&) = delete;
  ~NodeLock() { Unlock(); }
  void Unlock() {
    if (node_) ViewNodes::Release(*node_, mode_);
    node_ = nullptr;
  }

 private:
  NodeLock(ViewNode* node, LockMode mode) : node_(node), mode_(mode) {}
  ViewNode* node_;
  LockMode mode_;
};

}  // namespace agentfs
