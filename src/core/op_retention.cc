// SPDX-License-Identifier: Apache-2.0
//
// The oldest rows of the op log go: at its limit, or because somebody asked.
#include "base/clock.h"
#include "core/op_encoder.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// At the limit this part goes at once, so that names need not be looked through often.
constexpr uint64_t kDroppedPart = 16;

}  // namespace

// What cannot be read now stays until the next batch.
void OpEncoder::DropOld(Batch& batch) {
  uint64_t first_kept = recorder_.prune_to.exchange(0);
  if (const uint64_t limit = recorder_.options().max_rows; OverLimit()) {
    first_kept = std::max(first_kept, next_op_ - limit + limit / kDroppedPart);
  }
  first_kept = std::min(first_kept, batch_first_);
  if (first_kept <= first_op_) return;
  const auto dropped = DropRows(first_kept, batch);
  if (!dropped.ok() || *dropped == 0) return;
  first_op_ = first_kept;
  (void)DropNames(first_kept, batch);
  OpRow row;
  row.kind = OpKind::kDropped;
  row.bytes = *dropped;
  row.time_ns = ToNanoseconds(Now());
  Append(row);
}

Result<uint64_t> OpEncoder::DropRows(uint64_t first_kept, Batch& batch) {
  uint64_t dropped = 0;
  const std::string last = KeyInt(first_kept - 1);
  std::vector<std::string> keys;
  AGENTFS_TRY(store_.Scan(ScanRange{.table = tables::kOps, .upper = last}, [&](const RowView& row) {
    keys.emplace_back(row.key);
    return Visit::kContinue;
  }));
  for (const std::string& key : keys) batch.Delete(tables::kOps, key);
  absl::erase_if(grown_, [&](const auto& each) { return each.first < first_kept; });
  dropped = keys.size();
  return dropped;
}

// Those of which the batch at hand has nothing.
void OpEncoder::ForgetPathsBefore(uint64_t first_kept) {
  absl::erase_if(paths_, [&](const auto& each) {
    const Path& path = *each.second;
    if (path.changed || path.row.last_op >= first_kept) return false;
    path_by_id_.erase(path.id);
    return true;
  });
}

// Paths, directories and processes that no row refers to any more.
Result<void> OpEncoder::DropNames(uint64_t first_kept, Batch& batch) {
  ForgetPathsBefore(first_kept);
  absl::flat_hash_set<uint64_t> used;
  for (const auto& [id, path] : path_by_id_) used.insert(path->row.directory);
  std::vector<std::pair<TableId, std::string>> gone;
  AGENTFS_TRY(store_.Scan(ScanRange{.table = tables::kOpPaths}, [&](const RowView& row) {
    OpPathRow path;
    const uint64_t id = KeyReader(row.key).Int();
    const auto known = path_by_id_.find(id);
    const bool kept = DecodeOpPath(row.value, &path) &&
                      (path.last_op >= first_kept || known != path_by_id_.end());
    if (kept) {
      used.insert(path.directory);
    } else {
      gone.emplace_back(tables::kOpPaths, row.key);
    }
    return Visit::kContinue;
  }));
  AGENTFS_TRY(store_.Scan(ScanRange{.table = tables::kOpDirectories}, [&](const RowView& row) {
    if (!used.contains(KeyReader(row.key).Int())) {
      gone.emplace_back(tables::kOpDirectories, row.key);
    }
    return Visit::kContinue;
  }));
  absl::flat_hash_set<uint64_t> live;
  for (const auto& [pointer, process] : processes_) live.insert(process->id);
  AGENTFS_TRY(store_.Scan(ScanRange{.table = tables::kOpProcesses}, [&](const RowView& row) {
    OpProcessRow process;
    const bool kept = DecodeOpProcess(row.value, &process) &&
                      (process.last_op >= first_kept || live.contains(KeyReader(row.key).Int()));
    if (!kept) gone.emplace_back(tables::kOpProcesses, row.key);
    return Visit::kContinue;
  }));
  for (const auto& [table, key] : gone) batch.Delete(table, key);
  // A directory that has gone and is known here gets a row again.
  absl::erase_if(directory_ids_, [&](const auto& each) { return !used.contains(each.second); });
  absl::erase_if(directories_, [&](const auto& each) { return !used.contains(each.second.id); });
  return Ok();
}

}  // namespace agentfs
