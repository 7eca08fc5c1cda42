// SPDX-License-Identifier: Apache-2.0
#include "core/fsck.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "agentfs/path.h"
#include "core/volume_impl.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

ScanRange Whole(TableId table) { return {table, "", {}, {}, Order::kAscending, false}; }

}  // namespace

std::string NodeText(NodeId node) { return "node " + std::to_string(node.value); }
std::string LayerText(LayerId layer) { return " of layer " + std::to_string(layer.value); }

bool Checker::Report(std::string what, bool repairable) {
  const bool repaired = repair_ && repairable;
  report_.problems.push_back({std::move(what), repaired});
  return repaired;
}

// A row of a layer that nothing leads to.
void Checker::ReportLayer(const std::string& what, LayerId layer, TableId table,
                          std::string_view key) {
  if (Report(what + LayerText(layer) + " is of a layer that does not exist", true)) {
    Delete(table, std::string(key));
  }
}

void Checker::Delete(TableId table, std::string key) { repairs_.Delete(table, std::move(key)); }

void Checker::Put(TableId table, std::string key, std::string value) {
  repairs_.Put(table, std::move(key), std::move(value));
}

bool Checker::LayerExists(LayerId layer) const {
  absl::ReaderMutexLock lock(&volume_.tree_mu);
  return volume_.tree.Find(layer) != nullptr;
}

bool Checker::IsOpen(LayerId layer) const {
  absl::ReaderMutexLock lock(&volume_.tree_mu);
  const Layer* found = volume_.tree.Find(layer);
  return found != nullptr && !found->sealed;
}

bool Checker::HasVersion(NodeId node, const Layer& top) const {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(),
                     [&](const Version& version) { return top.HasAncestor(version.layer); });
}

const Checker::Version* Checker::FindVersion(NodeId node, LayerId layer) const {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return nullptr;
  const auto version = std::find_if(it->second.begin(), it->second.end(),
                                    [&](const Version& v) { return v.layer == layer; });
  return version == it->second.end() ? nullptr : &*version;
}

const Checker::Version* Checker::VisibleNode(NodeId node, const Layer& top) const {
  auto it = nodes_.find(node);
  if (it == nodes_.end()) return nullptr;
  for (auto version = it->second.rbegin(); version != it->second.rend(); ++version) {
    if (!top.HasAncestor(version->layer)) continue;
    return version->record.nlink > 0 ? &*version : nullptr;
  }
  return nullptr;
}

// ---- reading

Result<void> Checker::ReadNodes() {
  return volume_.store->Scan(Whole(tables::kNodes), [&](const RowView& row) {
    ++report_.rows_checked;
    const auto key = ParseNodeKey(row.key);
    Version version;
    const bool read = key && DecodeNode(row.value, &version.record);
    if (!read || (version.record.has_base && volume_.base == nullptr)) {
      if (Report("a row of table nodes cannot be read", true)) {
        Delete(tables::kNodes, std::string(row.key));
      }
      return Visit::kContinue;
    }
    ++node_records_;
    version.layer = key->layer;
    if (!LayerExists(key->layer)) {
      --node_records_;
      ReportLayer("the row of " + NodeText(key->node), key->layer, tables::kNodes, row.key);
      return Visit::kContinue;
    }
    const NodeRecord& record = version.record;
    if (record.content) {  // also of one that was unlinked and is not yet removed
      uint64_t& size = content_sizes_[record.content];
      size = std::max(size, record.size);
    }
    nodes_[key->node].push_back(std::move(version));
    return Visit::kContinue;
  });
}

Result<void> Checker::ReadEntries() {
  return volume_.store->Scan(Whole(tables::kEntries), [&](const RowView& row) {
    ++report_.rows_checked;
    const auto key = ParseEntryKey(row.key);
    EntryRecord entry;
    if (!key || CheckName(key->name) != 0 || !DecodeEntry(row.value, &entry)) {
      if (Report("a row of table entries cannot be read", true)) {
        Delete(tables::kEntries, std::string(row.key));
      }
      return Visit::kContinue;
    }
    if (!LayerExists(key->layer)) {
      ReportLayer("the entry '" + key->name + "' of " + NodeText(key->parent), key->layer,
                  tables::kEntries, row.key);
      return Visit::kContinue;
    }
    entries_[{key->parent, key->name}].push_back({key->layer, entry.node});
    return Visit::kContinue;
  });
}

Result<void> Checker::ReadObjects() {
  return volume_.store->Scan(Whole(tables::kObjects), [&](const RowView& row) {
    ++report_.rows_checked;
    const auto key = ParseObjectKey(row.key);
    if (!key) {
      if (Report("a row of table objects cannot be read", true)) {
        Delete(tables::kObjects, std::string(row.key));
      }
    } else if (!LayerExists(key->layer)) {
      ReportLayer("object " + std::to_string(key->object.value), key->layer, tables::kObjects,
                  row.key);
    } else {
      objects_[key->object] = *key;
    }
    return Visit::kContinue;
  });
}

Result<void> Checker::ReadOrphans() {
  return volume_.store->Scan(Whole(tables::kOrphans), [&](const RowView& row) {
    ++report_.rows_checked;
    KeyReader in(row.key);
    in.Int();
    const NodeId node(in.Int());
    const ContentId content(in.Int());
    if (node) orphan_nodes_.insert(node);
    if (content) orphan_contents_.insert(content);
    return Visit::kContinue;
  });
}

// ---- content

Result<void> Checker::CheckContent(TableId table, uint64_t unit) {
  const std::string name(VolumeSchema().tables[table].name);
  return volume_.store->Scan(Whole(table), [&](const RowView& row) {
    ++report_.rows_checked;
    const auto key = ParseContentKey(row.key);
    Runs runs;
    const bool readable = key && (table == tables::kData || DecodeRuns(row.blob, &runs)) &&
                          row.blob.size() <= volume_.layout.chunk_size;
    if (!readable) {
      if (Report("a row of table " + name + " cannot be read", true)) {
        Delete(table, std::string(row.key));
      }
      return Visit::kContinue;
    }
    if (table == tables::kData) stored_[key->layer] += static_cast<int64_t>(row.blob.size());
    for (const Run& run : runs) {
      if (!run.object) continue;
      const auto object = objects_.find(run.object);
      if (object == objects_.end()) {
        Report("content " + std::to_string(key->content.value) + " is in object " +
                   std::to_string(run.object.value) + ", which does not exist",
               false);
      } else if (object->second.layer == key->layer) {
        stored_[key->layer] += int64_t{run.count} * kPageSize;
      }
    }
    if (orphan_contents_.contains(key->content)) return Visit::kContinue;
    const auto size = content_sizes_.find(key->content);
    const std::string what = "row " + std::to_string(key->index) + " of content " +
                             std::to_string(key->content.value) + LayerText(key->layer) +
                             " in table " + name;
    if (!LayerExists(key->layer)) {
      ReportLayer("a row of content " + std::to_string(key->content.value), key->layer, table,
                  row.key);
    } else if (size == content_sizes_.end()) {
      if (orphan_nodes_.empty() && Report(what + " belongs to no node", true)) {
        Delete(table, std::string(row.key));
      }
    } else if (key->index * unit >= size->second && (!row.blob.empty())) {
      if (Report(what + " lies past the end of the file", true)) {
        Delete(table, std::string(row.key));
      }
    }
    return Visit::kContinue;
  });
}

Result<void> Checker::CheckXattrs() {
  return volume_.store->Scan(Whole(tables::kXattrs), [&](const RowView& row) {
    ++report_.rows_checked;
    const auto key = ParseEntryKey(row.key);
    if (key && !LayerExists(key->layer)) {
      ReportLayer("an xattr of " + NodeText(key->parent), key->layer, tables::kXattrs, row.key);
    } else if (!key || !nodes_.contains(key->parent)) {
      if (Report("a row of table xattrs belongs to no node", true)) {
        Delete(tables::kXattrs, std::string(row.key));
      }
    }
    return Visit::kContinue;
  });
}

Result<void> Checker::CheckObjects() {
  if (volume_.blobs == nullptr) return Ok();
  absl::flat_hash_set<ObjectId> files;
  AGENTFS_TRY(volume_.blobs->List([&](ObjectId object, uint64_t) { files.insert(object); }));
  for (const auto& [object, key] : objects_) {
    const bool orphan = orphan_contents_.contains(key.content) || !orphan_nodes_.empty();
    if (!orphan && !content_sizes_.contains(key.content)) {
      // The file goes with the next gc.
      if (Report("object " + std::to_string(object.value) + " belongs to no node", true)) {
        Delete(tables::kObjects, ObjectKey(key.content, key.layer, object));
      }
      continue;
    }
    if (files.contains(object)) continue;
    Report("object " + std::to_string(object.value) + " of content " +
               std::to_string(key.content.value) + " is missing",
           false);
  }
  return Ok();
}

// Marks of growing files: of an open layer, and of an object that it has.
Result<void> Checker::CheckGrowing() {
  return volume_.store->Scan(Whole(tables::kGrowing), [&](const RowView& row) {
    ++report_.rows_checked;
    const auto mark = GrowthMark::Parse(row.key, row.value);
    const auto object = mark ? objects_.find(mark->object) : objects_.end();
    const bool sound = object != objects_.end() && object->second.content == mark->content &&
                       object->second.layer == mark->layer && IsOpen(mark->layer);
    if (!sound && Report("a row of table growing speaks of no file that could grow", true)) {
      Delete(tables::kGrowing, std::string(row.key));
    }
    if (sound && volume_.growing.IsUnread(mark->content, mark->layer)) {
      Report(
          "object " + std::to_string(mark->object.value) + " of content " +
              std::to_string(mark->content.value) +
              ", which was being appended to before a crash, cannot be read: where its file ends "
              "is not known",
          false);
    }
    return Visit::kContinue;
  });
}

// ---- counters

void Checker::CheckHeadCounters(const Layer& head, const LayerCounters& truth) {
  LayerCounters& counters = const_cast<Layer&>(head).counters;
  const bool same = counters.files.load() == truth.files.load() &&
                    counters.directories.load() == truth.directories.load() &&
                    counters.total_size.load() == truth.total_size.load();
  if (same) return;
  const bool repaired = Report(
      "layer " + std::to_string(head.id.value) + " says that it has " +
          std::to_string(counters.files.load()) + " files, " +
          std::to_string(counters.directories.load()) + " directories and " +
          std::to_string(counters.total_size.load()) + " bytes; there are " +
          std::to_string(truth.files.load()) + ", " + std::to_string(truth.directories.load()) +
          " and " + std::to_string(truth.total_size.load()),
      true);
  if (!repaired) return;
  counters.CopyViewTotals(truth);
  volume_.LayerChanged(const_cast<Layer*>(&head));
}

void Checker::CheckCounters() {
  absl::ReaderMutexLock lock(&volume_.tree_mu);
  for (Layer* layer : volume_.tree.All()) {
    const int64_t counted = stored_[layer->id];
    const int64_t recorded = layer->counters.stored_bytes.load();
    if (counted == recorded) continue;
    const bool repaired =
        Report("layer " + std::to_string(layer->id.value) + " says that it keeps " +
                   std::to_string(recorded) + " bytes; it keeps " + std::to_string(counted),
               true);
    if (!repaired) continue;
    layer->counters.stored_bytes = counted;
    volume_.stored_bytes += counted - recorded;
    volume_.LayerChanged(layer);
  }
  if (const int64_t recorded = volume_.node_records.load(); recorded != node_records_) {
    const bool repaired = Report("the database says that it has " + std::to_string(recorded) +
                                     " node records; there are " + std::to_string(node_records_),
                                 true);
    if (repaired) volume_.node_records = node_records_;
  }
}

Result<FsckReport> Checker::Check() {
  AGENTFS_TRY(ReadNodes());
  AGENTFS_TRY(ReadEntries());
  AGENTFS_TRY(ReadObjects());
  AGENTFS_TRY(ReadOrphans());
  CheckEntries();
  for (const Layer* head : heads_) CheckHead(*head);
  RemoveUnreachable();
  AGENTFS_TRY(CheckContent(tables::kData, volume_.layout.chunk_size));
  AGENTFS_TRY(CheckContent(tables::kSpans, kSpanSize));
  AGENTFS_TRY(CheckXattrs());
  AGENTFS_TRY(CheckObjects());
  AGENTFS_TRY(CheckGrowing());
  CheckCounters();
  if (repair_) {
    for (Mutation& mutation : repairs_.mutations) {
      AGENTFS_TRY(volume_.journal->Admit(Growth::kFrees));
      Journal::Change change(*volume_.journal);
      if (mutation.kind == Mutation::Kind::kPut) {
        change.Put(mutation.table, std::move(mutation.key), std::move(mutation.value));
      } else {
        change.Delete(mutation.table, std::move(mutation.key));
      }
    }
    volume_.journal->Wake();  // corrected counters are written with a batch
    AGENTFS_TRY(volume_.journal->Flush(Durability::kSynced));
  }
  return std::move(report_);
}

Result<FsckReport> VolumeImpl::Check(bool repair) {
  absl::MutexLock lock(&mu_);
  std::vector<Layer*> heads;
  for (auto& [name, branch] : branches_) {
    if (repair && branch.view && branch.view->handles.load() > 0) {
      return Error(EBUSY, "branch '" + name + "' is in use", "end what runs in it first");
    }
    heads.push_back(branch.layer);
  }
  if (repair) EndGrowth();
  AGENTFS_TRY(DropIdleViews());
  {
    absl::ReaderMutexLock tree_lock(&state_->tree_mu);
    for (auto& [number, snapshot] : snapshots_) {
      heads.push_back(state_->tree.Find(snapshot.layer));
    }
  }
  std::sort(heads.begin(), heads.end(), [](auto* a, auto* b) { return a->id < b->id; });
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  AGENTFS_TRY(state_->FlushAndReap());
  if (!repair) return Checker(*state_, std::move(heads), false).Check();
  // What is repaired in the store must not live on in memory.
  for (auto& [name, branch] : branches_) branch.view.reset();
  // One repair may bring another to light (the bytes of a row that went): until nothing is left
  // that a repair can change.
  FsckReport report;
  constexpr int kMaxPasses = 16;
  for (int i = 0; i < kMaxPasses; ++i) {
    AGENTFS_ASSIGN(FsckReport pass, Checker(*state_, heads, true).Check());
    report.rows_checked = pass.rows_checked;
    const bool repaired = std::any_of(pass.problems.begin(), pass.problems.end(),
                                      [](const FsckProblem& problem) { return problem.repaired; });
    const bool first = report.problems.empty();
    for (FsckProblem& problem : pass.problems) {
      if (first || problem.repaired) report.problems.push_back(std::move(problem));
    }
    if (!repaired) break;
  }
  return report;
}

}  // namespace agentfs
