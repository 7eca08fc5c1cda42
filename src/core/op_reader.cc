// SPDX-License-Identifier: Apache-2.0
//
// Reading and pruning the op log.
#include "absl/container/flat_hash_map.h"
#include "agentfs/volume.h"
#include "core/op_rows.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// Rows of the dictionaries, fetched when first needed.
class OpNames {
 public:
  explicit OpNames(Volume& volume) : volume_(volume) {}

  Result<void> Load() {
    AGENTFS_TRY(Read(tables::kOpDirectories, [&](uint64_t id, std::string_view value) {
      return DecodeOpDirectory(value, &directories_[id]);
    }));
    AGENTFS_TRY(Read(tables::kOpPaths, [&](uint64_t id, std::string_view value) {
      return DecodeOpPath(value, &paths_[id]);
    }));
    return Read(tables::kOpProcesses, [&](uint64_t id, std::string_view value) {
      return DecodeOpProcess(value, &processes_[id]);
    });
  }

  OpRecord RecordOf(uint64_t id, const OpRow& row) const {
    OpRecord record;
    record.id = id;
    record.time_ns = row.time_ns;
    record.layer = row.layer;
    record.kind = row.kind;
    record.path = PathOf(row.path, &record.branch);
    record.path2 = PathOf(row.path2, &record.branch);
    record.node = row.node;
    record.bytes = row.bytes;
    record.bytes_read = row.bytes_read;
    record.error = row.error;
    if (const auto it = processes_.find(row.process); it != processes_.end()) {
      record.process = it->second.process;
    }
    record.process.exec = row.exec;
    return record;
  }

 private:
  template <typename Decode>
  Result<void> Read(TableId table, const Decode& decode) {
    return volume_.ScanRecords(ScanRange{.table = table}, [&](const RowView& row) {
      (void)decode(KeyReader(row.key).Int(), row.value);
      return Visit::kContinue;
    });
  }
  std::string PathOf(uint64_t id, std::string* branch) const {
    const auto path = paths_.find(id);
    if (path == paths_.end()) return "";
    const auto directory = directories_.find(path->second.directory);
    if (directory == directories_.end()) return path->second.name;
    *branch = directory->second.branch;
    const std::string& name = path->second.name;
    return "/" + directory->second.path + (name == "." ? "" : name);
  }

  Volume& volume_;
  absl::flat_hash_map<uint64_t, OpDirectoryRow> directories_;
  absl::flat_hash_map<uint64_t, OpPathRow> paths_;
  absl::flat_hash_map<uint64_t, OpProcessRow> processes_;
};

bool Matches(const OpFilter& filter, const OpRow& row) {
  if (filter.kind && row.kind != *filter.kind) return false;
  if (filter.exec && row.exec != *filter.exec) return false;
  return row.time_ns >= filter.since_ns;
}

}  // namespace

Result<void> ScanOps(Volume& volume, const OpFilter& filter,
                     const std::function<Visit(const OpRecord&)>& visit) {
  ScanRange range{.table = tables::kOps, .order = filter.order};
  // The names last: a row's are there when the row is.
  std::vector<std::pair<uint64_t, OpRow>> found;
  AGENTFS_TRY(volume.ScanRecords(range, [&](const RowView& row) {
    OpRow op;
    if (DecodeOp(row.value, &op) && Matches(filter, op)) {
      found.emplace_back(KeyReader(row.key).Int(), op);
    }
    return Visit::kContinue;
  }));
  OpNames names(volume);
  AGENTFS_TRY(names.Load());
  for (const auto& [id, row] : found) {
    const OpRecord record = names.RecordOf(id, row);
    if (filter.path && !filter.path(record.path) &&
        (record.path2.empty() || !filter.path(record.path2))) {
      continue;
    }
    if (visit(record) == Visit::kStop) break;
  }
  return Ok();
}

Result<uint64_t> PruneOps(Volume& volume, int64_t before_ns, uint64_t keep) {
  uint64_t first_kept = 0, dropped = 0, last = 0;
  std::vector<uint64_t> ids;
  AGENTFS_TRY(volume.ScanRecords(ScanRange{.table = tables::kOps}, [&](const RowView& row) {
    OpRow op;
    const uint64_t id = KeyReader(row.key).Int();
    last = id;
    if (before_ns == 0) {
      ids.push_back(id);
    } else if (DecodeOp(row.value, &op) && op.time_ns < before_ns) {
      // Times may go back when a clock is set: the rows before are older all the same.
      first_kept = id + 1;
      dropped = ids.size() + 1;
      ids.push_back(id);
    } else {
      ids.push_back(id);
    }
    return Visit::kContinue;
  }));
  if (before_ns == 0 && ids.size() > keep) {
    dropped = ids.size() - keep;
    first_kept = keep == 0 ? last + 1 : ids[ids.size() - keep];
  }
  if (first_kept == 0) return uint64_t{0};
  AGENTFS_TRY(volume.DropOpsBefore(first_kept));
  return dropped;
}

}  // namespace agentfs
