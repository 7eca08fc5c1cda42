// SPDX-License-Identifier: Apache-2.0
//
// Reading and pruning the op log.
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "agentfs/volume.h"
#include "core/op_rows.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// From here on rows of the dictionaries are not fetched one by one.
constexpr size_t kManyRows = 2000;
// Clocks are set; but not by more than this, as long as rows are looked at in the order of time.
constexpr int64_t kClockSlackNs = int64_t{86'400} * 1'000'000'000;

// The rows that the rows of operations refer to.
class OpNames {
 public:
  explicit OpNames(Volume& volume) : volume_(volume) {}

  Result<void> LoadAll() {
    loaded_ = true;
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

  // The paths that are meant; after LoadAll.
  absl::flat_hash_set<uint64_t> Matching(const std::function<bool(const std::string&)>& meant) {
    absl::flat_hash_set<uint64_t> ids;
    std::string branch;
    for (const auto& [id, path] : paths_) {
      if (meant(Joined(path, &branch))) ids.insert(id);
    }
    return ids;
  }

  Result<OpRecord> RecordOf(uint64_t id, const OpRow& row) {
    OpRecord record;
    record.id = id;
    record.time_ns = row.time_ns;
    record.layer = row.layer;
    record.kind = row.kind;
    AGENTFS_ASSIGN(record.path, PathOf(row.path, &record.branch));
    AGENTFS_ASSIGN(record.path2, PathOf(row.path2, &record.branch));
    record.node = row.node;
    record.bytes = row.bytes;
    record.bytes_read = row.bytes_read;
    record.error = row.error;
    AGENTFS_TRY(Fetch(tables::kOpProcesses, row.process, processes_, DecodeOpProcess));
    record.process = processes_[row.process].process;
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
  template <typename Row>
  Result<void> Fetch(TableId table, uint64_t id, absl::flat_hash_map<uint64_t, Row>& known,
                     bool (*decode)(std::string_view, Row*)) {
    if (id == 0 || loaded_ || known.contains(id)) return Ok();
    AGENTFS_ASSIGN(const auto row, volume_.GetRecord(table, KeyInt(id)));
    if (row) (void)decode(row->value, &known[id]);
    return Ok();
  }
  Result<std::string> PathOf(uint64_t id, std::string* branch) {
    if (id == 0) return std::string();
    AGENTFS_TRY(Fetch(tables::kOpPaths, id, paths_, DecodeOpPath));
    const OpPathRow path = paths_[id];
    AGENTFS_TRY(Fetch(tables::kOpDirectories, path.directory, directories_, DecodeOpDirectory));
    return Joined(path, branch);
  }
  std::string Joined(const OpPathRow& path, std::string* branch) {
    const OpDirectoryRow& directory = directories_[path.directory];
    *branch = directory.branch;
    return "/" + directory.path + (path.name == "." ? "" : path.name);
  }

  Volume& volume_;
  bool loaded_ = false;
  absl::flat_hash_map<uint64_t, OpDirectoryRow> directories_;
  absl::flat_hash_map<uint64_t, OpPathRow> paths_;
  absl::flat_hash_map<uint64_t, OpProcessRow> processes_;
};

bool Matches(const OpFilter& filter, const OpRow& row) {
  if (filter.kind && row.kind != *filter.kind) return false;
  if (filter.exec && row.exec != *filter.exec) return false;
  return row.time_ns >= filter.since_ns;
}

using FoundOps = std::vector<std::pair<uint64_t, OpRow>>;

// `paths` null: all.
Result<FoundOps> FindOps(Volume& volume, const OpFilter& filter,
                         const absl::flat_hash_set<uint64_t>* paths) {
  FoundOps found;
  const bool backwards = filter.order == Order::kDescending;
  const ScanRange range{.table = tables::kOps, .order = filter.order};
  AGENTFS_TRY(volume.ScanRecords(range, [&](const RowView& row) {
    OpRow op;
    if (!DecodeOp(row.value, &op)) return Visit::kContinue;
    if (backwards && op.time_ns < filter.since_ns - kClockSlackNs) return Visit::kStop;
    if (!Matches(filter, op)) return Visit::kContinue;
    if (paths && !paths->contains(op.path) && !paths->contains(op.path2)) return Visit::kContinue;
    found.emplace_back(KeyReader(row.key).Int(), op);
    return filter.limit != 0 && found.size() >= filter.limit ? Visit::kStop : Visit::kContinue;
  }));
  return found;
}

}  // namespace

Result<void> ScanOps(Volume& volume, const OpFilter& filter,
                     const std::function<Visit(const OpRecord&)>& visit) {
  OpNames names(volume);
  absl::flat_hash_set<uint64_t> paths;
  if (filter.path) {
    AGENTFS_TRY(names.LoadAll());
    paths = names.Matching(filter.path);
  }
  AGENTFS_ASSIGN(const FoundOps found, FindOps(volume, filter, filter.path ? &paths : nullptr));
  // After the rows: what they refer to is there when they are.
  if (found.size() > kManyRows || filter.path) AGENTFS_TRY(names.LoadAll());
  for (const auto& [id, row] : found) {
    AGENTFS_ASSIGN(const OpRecord record, names.RecordOf(id, row));
    if (visit(record) == Visit::kStop) break;
  }
  return Ok();
}

namespace {

// One path, without loading all of them.
Result<std::string> FindOpPath(Volume& volume, uint64_t id) {
  OpPathRow path;
  OpDirectoryRow directory;
  AGENTFS_ASSIGN(const auto row, volume.GetRecord(tables::kOpPaths, KeyInt(id)));
  if (!row || !DecodeOpPath(row->value, &path)) return std::string();
  AGENTFS_ASSIGN(const auto above,
                 volume.GetRecord(tables::kOpDirectories, KeyInt(path.directory)));
  if (!above || !DecodeOpDirectory(above->value, &directory)) return path.name;
  return "/" + directory.path + (path.name == "." ? "" : path.name);
}

}  // namespace

Result<OpSummary> SummarizeOps(Volume& volume, uint64_t exec, int64_t since_ns, size_t max_denied) {
  OpSummary summary;
  std::vector<OpRow> denied;
  const ScanRange range{.table = tables::kOps, .order = Order::kDescending};
  AGENTFS_TRY(volume.ScanRecords(range, [&](const RowView& row) {
    OpRow op;
    if (!DecodeOp(row.value, &op)) return Visit::kContinue;
    if (op.time_ns < since_ns) return Visit::kStop;
    if (op.exec != exec) return Visit::kContinue;
    if (op.error == 0) {
      ++summary.counts[op.kind];
    } else if (denied.size() < max_denied) {
      denied.push_back(op);
    }
    return Visit::kContinue;
  }));
  for (auto op = denied.rbegin(); op != denied.rend(); ++op) {
    AGENTFS_ASSIGN(std::string path, FindOpPath(volume, op->path));
    summary.denied.push_back({op->kind, std::move(path)});
  }
  return summary;
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
