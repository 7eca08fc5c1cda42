// SPDX-License-Identifier: Apache-2.0
//
// Makes rows of the events of a batch, on the committer's thread, after the batch is cut: so they
// are part of it, and nobody waits for them.
//
// It follows the names of nodes by the events themselves, so that a write needs no path: each node
// that an event is about was named before, by its creation, its renaming, or kNamed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "agentfs/result.h"
#include "agentfs/store.h"
#include "core/op_events.h"
#include "core/op_recorder.h"
#include "core/op_rows.h"

namespace agentfs {

// Used by one thread. The dictionaries (paths, directories, processes) are as far in memory as
// bounded maps allow: what is forgotten gets another row when it comes again.
class OpEncoder {
 public:
  OpEncoder(Store& store, OpRecorder& recorder) : store_(store), recorder_(recorder) {}

  // Finds out where the tables end.
  Result<void> Load();
  // Appends the rows to `batch`.
  void Encode(const OpEvents& events, Batch& batch);
  // Whether rows are to be dropped, though there be no events.
  bool HasWork() const { return recorder_.prune_to.load() > first_op_ || OverLimit(); }

 private:
  using NodeKey = std::pair<uint32_t, uint64_t>;  // view, node
  struct Place {
    uint64_t parent = 0;
    std::string name;
    uint64_t path = 0;  // its id, if `epoch` is the present one
    uint64_t epoch = 0;
  };
  struct DirectoryId {
    uint64_t id = 0;
    uint64_t epoch = 0;
  };
  struct Path {
    uint64_t id = 0;
    OpPathRow row;
    bool changed = false;
  };
  struct Process {
    uint64_t id = 0;
    std::shared_ptr<const OpProcess> held;  // so that its address stays its own
    OpProcessRow row;
    bool changed = false;
  };
  struct Open {  // a row that may grow yet
    uint64_t op = 0;
    OpRow row;
  };

  // ---- names
  void Name(uint32_t view, NodeId node, NodeId parent, std::string_view name);
  void LearnName(const OpEvent& event);
  void FollowNames(const OpEvent& event);
  Place* FindPlace(NodeKey key);
  std::string PathOfDirectory(uint32_t view, uint64_t node);
  uint64_t DirectoryOf(uint32_t view, uint64_t node);
  Path* PathAt(uint32_t view, uint64_t parent, std::string_view name);
  // The path that the node has by what is known; null: none.
  Path* PathOfNode(uint32_t view, NodeId node);
  void ForgetPaths();

  // ---- rows
  void Add(const OpEvent& event);
  void AddWrite(const OpEvent& event);
  void AddClosed(const OpEvent& event);
  uint64_t Append(OpRow row);
  OpRow RowOf(const OpEvent& event);
  Process& ProcessOf(const OpEvent& event);
  void Touch(Path* path, uint64_t op, bool write);
  OpRow* Pending(uint64_t op);
  void Emit(Batch& batch);
  void TrimMemory();

  // ---- retention (op_retention.cc)
  bool OverLimit() const {
    const uint64_t limit = recorder_.options().max_rows;
    return limit != 0 && next_op_ - first_op_ > limit;
  }
  void DropOld(Batch& batch);
  Result<uint64_t> DropRows(uint64_t first_kept, Batch& batch);
  void ForgetPathsBefore(uint64_t first_kept);
  Result<void> DropNames(uint64_t first_kept, Batch& batch);

  Store& store_;
  OpRecorder& recorder_;
  uint64_t first_op_ = 1, next_op_ = 1;
  uint64_t next_path_ = 1, next_directory_ = 1, next_process_ = 1;
  uint64_t epoch_ = 1;  // raised when paths change for more than one node

  absl::flat_hash_map<NodeKey, Place> places_, older_places_;
  absl::flat_hash_map<NodeKey, DirectoryId> directories_;
  absl::flat_hash_map<std::string, uint64_t> directory_ids_;       // by branch, NUL, path
  absl::flat_hash_map<std::string, std::unique_ptr<Path>> paths_;  // by directory and name
  absl::flat_hash_map<uint64_t, Path*> path_by_id_;
  absl::flat_hash_map<const OpProcess*, std::unique_ptr<Process>> processes_;
  absl::flat_hash_map<NodeKey, Open> open_writes_;
  absl::flat_hash_map<uint64_t, Open> open_files_;  // by token

  // Of the batch at hand.
  uint64_t batch_first_ = 0;
  std::vector<OpRow> rows_;
  std::vector<Path*> changed_paths_;
  std::vector<Process*> changed_processes_;
  std::vector<std::pair<uint64_t, OpDirectoryRow>> new_directories_;
  absl::flat_hash_map<uint64_t, OpRow> grown_;  // rows of earlier batches, as they are now
};

}  // namespace agentfs
