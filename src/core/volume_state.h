// SPDX-License-Identifier: Apache-2.0
//
// What the views of a volume share. Lock order: docs/design/locking.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/store.h"
#include "agentfs/volume.h"
#include "core/base_files.h"
#include "core/content_cache.h"
#include "core/content_layout.h"
#include "core/growing_files.h"
#include "core/journal.h"
#include "core/kept_base.h"
#include "core/layer_tree.h"
#include "core/op_encoder.h"
#include "core/op_recorder.h"
#include "core/read_ahead.h"
#include "core/reaper.h"
#include "core/records.h"

namespace agentfs {

// Which nodes of the base have a record in some layer, so that a look-up of one that has none
// need not ask the store. Thread-safe.
class ChangedBaseNodes {
 public:
  bool Contains(NodeId node) const {
    absl::ReaderMutexLock lock(&mu_);
    return nodes_.contains(node);
  }
  void Add(NodeId node) {
    absl::MutexLock lock(&mu_);
    nodes_.insert(node);
  }

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_set<NodeId> nodes_ ABSL_GUARDED_BY(mu_);
};

class VolumeState {
 public:
  VolumeState(std::unique_ptr<Store> store, std::unique_ptr<BlobStore> blobs,
              std::unique_ptr<BaseFs> base, const VolumeOptions& options,
              const ContentLayout& layout);

  const VolumeOptions options;
  ContentLayout layout;  // set when the volume is opened, by what its store says
  const std::unique_ptr<Store> store;
  const std::unique_ptr<BlobStore> blobs;  // null: everything in the store
  const std::unique_ptr<BaseFs> base;      // null: none

  // Shared by whoever resolves versions, for as long as that takes; exclusive while rows move
  // from one layer to another.
  absl::Mutex versions_mu;
  absl::Mutex tree_mu;  // a leaf
  LayerTree tree ABSL_GUARDED_BY(tree_mu);

  // The next unused ids; written with the batch that first uses one.
  struct Counter {
    std::string_view name;
    std::atomic<uint64_t> next{1};
    uint64_t written = 0;  // at the seal only
    void RaiseAbove(uint64_t used) {
      if (next.load() <= used) next = used + 1;
    }
    uint64_t Take() { return next.fetch_add(1, std::memory_order_relaxed); }
  };
  Counter nodes{"next_node", 2};  // 1 is the root
  Counter contents{"next_content"};
  Counter objects{"next_object"};
  Counter layers{"next_layer"};
  Counter snapshots{"next_snapshot"};
  Counter execs{"next_exec"};
  Counter calls{"next_call"};
  std::array<Counter*, 7> Counters() {
    return {&nodes, &contents, &objects, &layers, &snapshots, &execs, &calls};
  }

  std::atomic<int64_t> node_records{0};
  std::atomic<int64_t> stored_bytes{0};
  std::atomic<bool> base_unwatched{false};  // a directory of the base could not be watched
  std::atomic<uint64_t> base_changes{1};    // grows with every change that the base tells of

  OpRecorder ops;
  OpEncoder op_encoder;  // the committer's

  ChangedBaseNodes changed_base_nodes;
  ContentCache content_cache;
  BaseFiles base_files;
  ReadAhead read_ahead;  // before the files go
  KeptBase kept;
  GrowingFiles growing;
  Reaper reaper;

  // `layer`'s counters have changed: its row is written with the next batch.
  void LayerChanged(Layer* layer);
  static LayerRecord RecordOf(const Layer& layer);
  void CountStored(LayerId layer, int64_t bytes);

  // Last: its thread uses the others.
  std::unique_ptr<Journal> journal;

  // Commits what was appended, and the removal of what nobody can reach by then.
  Result<void> FlushAndReap();

  // At the seal, which the analysis cannot see: the rows of counters and changed layers.
  void WriteCounters() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  Result<void> ReadCounters();
  // A store without the row is of a time when all had kDefaultChunkSize.
  Result<void> ReadLayout();

 private:
  Result<std::optional<int64_t>> ReadMeta(std::string_view name);

  absl::Mutex changed_mu_;
  std::vector<LayerId> changed_layers_ ABSL_GUARDED_BY(changed_mu_);
  int64_t written_node_records_ = 0;
};

}  // namespace agentfs
