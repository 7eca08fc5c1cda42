// SPDX-License-Identifier: Apache-2.0
//
// fsck of what a volume needs to be opened: its counters, layers, branches and snapshots.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "agentfs/volume.h"
#include "base/clock.h"
#include "core/content_layout.h"
#include "core/records.h"
#include "core/volume_impl.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

std::string Text(LayerId layer) { return "layer " + std::to_string(layer.value); }

// Reads the tables, mends what it has read in memory, and keeps the rows that this changes. Nothing
// is guessed: a layer whose row is lost is put on a layer that it surely stood on, and what then
// has no name gets one.
class TableMender {
 public:
  explicit TableMender(Store& store) : store_(store) {}

  Result<void> Run();
  FsckReport& report() { return report_; }
  const Batch& repairs() const { return repairs_; }

 private:
  struct BranchRow {
    LayerId layer;
    int64_t created_ns = 0;
  };

  Result<void> Read(TableId table, const std::function<bool(const RowView&)>& read,
                    std::string_view what);
  Result<void> ReadAll();
  bool ReadMeta(const RowView& row);
  bool ReadLayer(const RowView& row);
  bool ReadBranch(const RowView& row);
  bool ReadSnapshot(const RowView& row);
  Result<void> MendChunkSize();
  Result<void> FindLayersOfRows();
  void DropImpossibleNames();
  Result<void> MendLayers();
  Result<void> AddLostLayer(LayerId id);
  Result<LayerId> ProvenAncestor(LayerId id);
  void MendSnapshotNames();
  void SealNamedLayers();
  void MendBranches();
  void NameTheUnnamed();
  LayerId NewLayer(LayerId parent);
  void PutBranch(const std::string& name, const BranchRow& branch);

  void Report(std::string what) { report_.problems.push_back({std::move(what), false}); }
  void PutLayer(LayerId id) {
    repairs_.Put(tables::kLayers, LayerKey(id), EncodeLayer(layers_.at(id)));
  }

  Store& store_;
  FsckReport report_;
  Batch repairs_;
  std::map<LayerId, LayerRecord> layers_;
  std::map<std::string, BranchRow> branches_;
  std::map<uint64_t, SnapshotRecord> snapshots_;
  std::set<LayerId> with_rows_;  // layers that nodes have rows in
  uint64_t next_layer_ = 0;      // 0: not known
  bool chunk_size_read_ = false;
  bool names_lost_ = false;  // a name of a layer, or a layer, is not known any more
};

// ---- reading

Result<void> TableMender::Read(TableId table, const std::function<bool(const RowView&)>& read,
                               std::string_view what) {
  return store_.Scan(ScanRange{table, "", {}, {}, Order::kAscending, false},
                     [&](const RowView& row) {
                       ++report_.rows_checked;
                       if (read(row)) return Visit::kContinue;
                       Report("a row of table " + std::string(what) + " cannot be read");
                       repairs_.Delete(table, row.key);
                       return Visit::kContinue;
                     });
}

bool TableMender::ReadMeta(const RowView& row) {
  int64_t value = 0;
  if (!DecodeInt(row.value, &value) || value < 0) return false;
  const std::string name(KeyReader(row.key).Bytes());
  if (name == kChunkSizeName) return chunk_size_read_ = ContentLayout::IsChunkSize(value);
  if (name == "next_layer") next_layer_ = static_cast<uint64_t>(value);
  return true;
}

bool TableMender::ReadLayer(const RowView& row) {
  LayerRecord record;
  const LayerId id(KeyReader(row.key).Int());
  const bool read = id && id.value < INT64_MAX && DecodeLayer(row.value, &record);
  names_lost_ |= !read;
  if (read) layers_[id] = record;
  return read;
}

bool TableMender::ReadBranch(const RowView& row) {
  BranchRow branch;
  const std::string name(KeyReader(row.key).Bytes());
  const bool read = CheckRefName(name).ok() &&
                    DecodeBranch(row.value, &branch.layer, &branch.created_ns) && branch.layer;
  names_lost_ |= !read;
  if (read) branches_[name] = branch;
  return read;
}

bool TableMender::ReadSnapshot(const RowView& row) {
  SnapshotRecord record;
  const uint64_t number = KeyReader(row.key).Int();
  const bool read = number != 0 && DecodeSnapshot(row.value, &record) && record.layer;
  names_lost_ |= !read;
  if (read) snapshots_[number] = std::move(record);
  return read;
}

Result<void> TableMender::ReadAll() {
  AGENTFS_TRY(Read(
      tables::kMeta, [this](const RowView& row) { return ReadMeta(row); }, "meta"));
  AGENTFS_TRY(Read(
      tables::kLayers, [this](const RowView& row) { return ReadLayer(row); }, "layers"));
  AGENTFS_TRY(Read(
      tables::kBranches, [this](const RowView& row) { return ReadBranch(row); }, "branches"));
  AGENTFS_TRY(Read(
      tables::kSnapshots, [this](const RowView& row) { return ReadSnapshot(row); }, "snapshots"));
  return FindLayersOfRows();
}

// Chunks of another size would not be found again: it is taken from the largest there is.
Result<void> TableMender::MendChunkSize() {
  if (chunk_size_read_) return Ok();
  uint64_t largest = 0;
  AGENTFS_TRY(store_.Scan(ScanRange{tables::kData, "", {}, {}, Order::kAscending, false},
                          [&](const RowView& row) {
                            largest = std::max<uint64_t>(largest, row.blob.size());
                            return Visit::kContinue;
                          }));
  const uint64_t size =
      std::clamp<uint64_t>(std::bit_ceil(largest), kDefaultChunkSize, kMaxChunkSize);
  Report("the size of chunks is lost; the largest says that it is " + std::to_string(size));
  repairs_.Put(tables::kMeta, NameKey(kChunkSizeName), EncodeInt(static_cast<int64_t>(size)));
  return Ok();
}

// One short scan for each layer.
Result<void> TableMender::FindLayersOfRows() {
  for (LayerId next(1); next;) {
    const std::string lower = KeyInt(next.value);
    next = LayerId();
    ScanRange range{tables::kNodes, "", lower, {}, Order::kAscending, true};
    AGENTFS_TRY(store_.Scan(range, [&](const RowView& row) {
      const auto key = ParseNodeKey(row.key);
      if (!key || key->layer.value >= INT64_MAX) return Visit::kStop;
      with_rows_.insert(key->layer);
      next = LayerId(key->layer.value + 1);
      return Visit::kStop;
    }));
  }
  return Ok();
}

// ---- layers

// The greatest layer that is surely an ancestor: one that a node in this layer was born in.
Result<LayerId> TableMender::ProvenAncestor(LayerId id) {
  LayerId ancestor = kRootLayer;
  const std::string prefix = KeyInt(id.value);
  AGENTFS_TRY(store_.Scan(
      ScanRange{tables::kNodes, prefix, {}, {}, Order::kAscending, true}, [&](const RowView& row) {
        NodeRecord record;
        if (DecodeNode(row.value, &record) && record.born < id && layers_.contains(record.born)) {
          ancestor = std::max(ancestor, record.born);
        }
        return Visit::kContinue;
      }));
  return ancestor;
}

Result<void> TableMender::AddLostLayer(LayerId id) {
  LayerRecord record;
  record.sealed = true;
  record.created_ns = ToNanoseconds(Now());
  if (id != kRootLayer) {
    AGENTFS_ASSIGN(record.parent, ProvenAncestor(id));
  }
  layers_[id] = record;
  names_lost_ = true;
  Report("the row of " + Text(id) + " is lost; it is put on " +
         (record.parent ? Text(record.parent) + ", what lay between them cannot be seen any more"
                        : "nothing, as the first one"));
  PutLayer(id);
  return Ok();
}

// Names of layers that there never were lead nowhere.
void TableMender::DropImpossibleNames() {
  const auto impossible = [&](LayerId id) {
    return !layers_.contains(id) && next_layer_ != 0 && id.value >= next_layer_;
  };
  const size_t names = branches_.size() + snapshots_.size();
  std::erase_if(branches_, [&](const auto& item) {
    if (!impossible(item.second.layer)) return false;
    Report("branch '" + item.first + "' names " + Text(item.second.layer) +
           ", which there never was; it is removed");
    repairs_.Delete(tables::kBranches, NameKey(item.first));
    return true;
  });
  std::erase_if(snapshots_, [&](const auto& item) {
    if (!impossible(item.second.layer)) return false;
    Report("snapshot '" + item.second.name + "' names " + Text(item.second.layer) +
           ", which there never was; it is removed");
    repairs_.Delete(tables::kSnapshots, SnapshotKey(item.first));
    return true;
  });
  names_lost_ |= branches_.size() + snapshots_.size() != names;
}

Result<void> TableMender::MendLayers() {
  std::set<LayerId> wanted{kRootLayer};
  for (const auto& [id, record] : layers_) {
    if (record.parent && record.parent < id) wanted.insert(record.parent);
  }
  for (const auto& [name, branch] : branches_) wanted.insert(branch.layer);
  for (const auto& [number, snapshot] : snapshots_) wanted.insert(snapshot.layer);
  for (const LayerId id : wanted) names_lost_ |= !layers_.contains(id);
  if (names_lost_) {
    for (const LayerId id : with_rows_) {
      if (next_layer_ == 0 || id.value < next_layer_) wanted.insert(id);
    }
  }
  for (const LayerId id : wanted) {  // ancestors first
    if (!layers_.contains(id) && id.value < INT64_MAX) AGENTFS_TRY(AddLostLayer(id));
  }
  for (auto& [id, record] : layers_) {
    if (record.parent < id) continue;
    AGENTFS_ASSIGN(record.parent, ProvenAncestor(id));
    if (id == kRootLayer) record.parent = LayerId();
    Report(Text(id) + " stands on one that is younger; it is put on " + Text(record.parent));
    PutLayer(id);
  }
  return Ok();
}

LayerId TableMender::NewLayer(LayerId parent) {
  uint64_t next = std::max(next_layer_, layers_.rbegin()->first.value + 1);
  if (!with_rows_.empty()) next = std::max(next, with_rows_.rbegin()->value + 1);
  next_layer_ = next + 1;
  const LayerId id(next);
  layers_[id] = LayerRecord{.parent = parent, .created_ns = ToNanoseconds(Now())};
  PutLayer(id);
  repairs_.Put(tables::kMeta, NameKey("next_layer"), EncodeInt(static_cast<int64_t>(next_layer_)));
  return id;
}

// ---- names

void TableMender::MendSnapshotNames() {
  std::set<std::string> taken;
  for (const auto& [name, branch] : branches_) taken.insert(name);
  for (auto& [number, snapshot] : snapshots_) {
    const std::string own = "s" + std::to_string(number);
    const bool valid = snapshot.name == own || CheckRefName(snapshot.name).ok();
    if (valid && taken.insert(snapshot.name).second) continue;
    Report("snapshot " + own + " has a name that cannot be used; it gets the name '" + own + "'");
    snapshot.name = own;
    repairs_.Put(tables::kSnapshots, SnapshotKey(number), EncodeSnapshot(snapshot));
  }
}

// What others stand on, and what a snapshot names, does not change any more.
void TableMender::SealNamedLayers() {
  std::map<LayerId, int> owners;
  for (const auto& [name, branch] : branches_) ++owners[branch.layer];
  std::set<LayerId> sealed{kRootLayer};
  for (const auto& [id, record] : layers_) sealed.insert(record.parent);
  for (const auto& [number, snapshot] : snapshots_) sealed.insert(snapshot.layer);
  for (const auto& [id, count] : owners) {
    if (count > 1) sealed.insert(id);
  }
  for (auto& [id, record] : layers_) {
    if (record.sealed || !sealed.contains(id)) continue;
    Report(Text(id) + " is open, but something else stands on it; it is sealed");
    record.sealed = true;
    PutLayer(id);
  }
}

void TableMender::PutBranch(const std::string& name, const BranchRow& branch) {
  branches_[name] = branch;
  repairs_.Put(tables::kBranches, NameKey(name), EncodeBranch(branch.layer, branch.created_ns));
}

void TableMender::MendBranches() {
  std::vector<std::string> names;
  for (const auto& [name, branch] : branches_) names.push_back(name);
  for (const std::string& name : names) {
    BranchRow branch = branches_.at(name);
    if (!layers_.at(branch.layer).sealed) continue;
    Report("branch '" + name + "' names " + Text(branch.layer) +
           ", which is sealed; it gets a new one on it");
    branch.layer = NewLayer(branch.layer);
    PutBranch(name, branch);
  }
  const std::string main(kMainBranch);
  if (branches_.contains(main)) return;
  names_lost_ = true;
  Report("branch 'main' is lost; it is made anew, without changes");
  PutBranch(main, {NewLayer(kRootLayer), ToNanoseconds(Now())});
}

// A layer that the lost row may have named must not go with the next gc.
void TableMender::NameTheUnnamed() {
  if (!names_lost_) return;
  std::set<LayerId> used{kRootLayer};
  for (const auto& [id, record] : layers_) used.insert(record.parent);
  for (const auto& [name, branch] : branches_) used.insert(branch.layer);
  for (const auto& [number, snapshot] : snapshots_) used.insert(snapshot.layer);
  std::vector<LayerId> unnamed;
  for (const auto& [id, record] : layers_) {
    if (!used.contains(id) && with_rows_.contains(id)) unnamed.push_back(id);
  }
  for (const LayerId id : unnamed) {
    const std::string name = "recovered-" + std::to_string(id.value);
    if (branches_.contains(name)) continue;
    Report("the changes of " + Text(id) + " have no name; they are kept as branch '" + name + "'");
    const LayerId layer = layers_.at(id).sealed ? NewLayer(id) : id;
    PutBranch(name, {layer, ToNanoseconds(Now())});
  }
}

Result<void> TableMender::Run() {
  AGENTFS_TRY(ReadAll());
  const bool empty = report_.rows_checked == 0 && with_rows_.empty();
  if (empty) return Ok();  // opening makes a new volume
  AGENTFS_TRY(MendChunkSize());
  DropImpossibleNames();
  AGENTFS_TRY(MendLayers());
  MendSnapshotNames();
  SealNamedLayers();
  MendBranches();
  NameTheUnnamed();
  return Ok();
}

}  // namespace

Result<FsckReport> CheckVolumeTables(Store& store, bool repair) {
  TableMender mender(store);
  AGENTFS_TRY(mender.Run());
  if (repair && !mender.repairs().empty()) {
    AGENTFS_TRY(store.Commit(mender.repairs(), Durability::kSynced));
    for (FsckProblem& problem : mender.report().problems) problem.repaired = true;
  }
  return std::move(mender.report());
}

}  // namespace agentfs
