// SPDX-License-Identifier: Apache-2.0
//
// Loading: from layers and base into memory.
#include "core/view_nodes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "core/originals.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// Every versioned key ends with its layer.
LayerId LayerOfKey(std::string_view key) {
  if (key.size() < 8) return LayerId();
  return LayerId(KeyReader(key.substr(key.size() - 8)).Int());
}

std::string_view GroupOfKey(std::string_view key) {
  return key.substr(0, key.size() < 8 ? 0 : key.size() - 8);
}

Attr AttrInMemory(const ViewNode& node) {
  return {node.id(),  node.mode,  node.uid,   node.gid,
          node.nlink, node.rdev,  node.size,  (node.stored + 511) / 512,
          node.atime, node.mtime, node.ctime, node.btime};
}

// Whether the base has there what a record is of: itself, or the directory that it was given
// instead. One that was born later only has the number of one that is gone.
bool IsWhatWasSeen(NodeId node, uint32_t mode, const BaseSignature& then, const BaseStat& now) {
  if (BaseNodeId(now.identity) == node) return true;
  return S_ISDIR(mode) && S_ISDIR(now.attr.mode) && now.signature.inode == then.inode &&
         ToNanoseconds(now.attr.btime) <= ToNanoseconds(then.ctime);
}

Error Damaged(std::string_view table, NodeId node) {
  return Error(EBADMSG,
               "the row of node " + std::to_string(node.value) + " in table " + std::string(table) +
                   " cannot be read: it is damaged",
               "run `agentfs fsck --repair`");
}

}  // namespace

std::string JoinBasePath(const std::string& directory, std::string_view name) {
  std::string path;
  path.reserve(directory.size() + 1 + name.size());
  path.append(directory);
  if (!path.empty()) path.push_back('/');
  path.append(name);
  return path;
}

ViewNodes::ViewNodes(VolumeState& volume, Layer* layer, Access access)
    : volume_(volume), access_(access), layer_(layer), table_(*this) {}

ViewNodes::~ViewNodes() {
  volume_.content_cache.Forget(*this);
  // In a damaged store a directory may be below itself, and then hold itself in memory.
  for (const NodeRef& ref : table_.All()) {
    ViewNode& node = AsViewNode(*ref);
    NodePart part;  // destroyed after the lock is released
    absl::MutexLock lock(&node.mu);
    if (node.directory() != nullptr) part = std::move(node.part);
  }
}

// ---- versions

Result<bool> ViewNodes::FindNearest(TableId table, const std::string& prefix, const RowReader& read,
                                    BlobAccess blobs) {
  AGENTFS_TRY(journal().WaitCommitted(needed_batch_.load()));
  absl::ReaderMutexLock lock(&volume_.versions_mu);
  const Layer* top = layer();
  const Layer* next = top;
  while (next != nullptr) {
    const std::string upper = KeyInt(next->id.value);
    ScanRange range{table, prefix, std::nullopt, upper, Order::kDescending, false, blobs};
    LayerId seen;
    bool found = false;
    Result<void> outcome;
    AGENTFS_TRY(volume_.store->Scan(range, [&](const RowView& row) {
      seen = LayerOfKey(row.key);
      found = top->HasAncestor(seen);
      if (found) outcome = read(row, seen);
      return Visit::kStop;
    }));
    AGENTFS_TRY(outcome);
    if (found) return true;
    // The row is of another branch: go on below it at our nearest ancestor.
    next = seen ? top->AncestorAtMost(seen) : nullptr;
  }
  return false;
}

Result<void> ViewNodes::ScanNearest(const ScanRange& range, const GroupReader& read) {
  AGENTFS_TRY(journal().WaitCommitted(needed_batch_.load()));
  absl::ReaderMutexLock lock(&volume_.versions_mu);
  const Layer* top = layer();
  Row best;
  LayerId best_layer;
  bool older = false;
  Result<void> outcome;
  auto emit = [&] {
    if (best_layer && outcome.ok()) {
      outcome =
          read(RowView{best.key, best.value, best.blob.view(), &best.blob}, best_layer, older);
    }
    best_layer = LayerId();
    older = false;
  };
  AGENTFS_TRY(volume_.store->Scan(range, [&](const RowView& row) {
    if (GroupOfKey(row.key) != GroupOfKey(best.key)) emit();
    const LayerId seen = LayerOfKey(row.key);
    if (top->HasAncestor(seen)) {
      older = static_cast<bool>(best_layer);
      best_layer = seen;
      best.key.assign(row.key);
      best.value.assign(row.value);
      best.blob = row.blob.empty() ? Buffer() : row.TakeBlob();
    }
    return outcome.ok() ? Visit::kContinue : Visit::kStop;
  }));
  emit();
  return outcome;
}

// ---- nodes

Result<void> ViewNodes::Acquire(ViewNode& node, LockMode mode) {
  if (mode == LockMode::kShared) {
    node.mu.ReaderLock();
    if (node.state == ViewNode::State::kLoaded) [[likely]]
      return Ok();
    node.mu.ReaderUnlock();
    AGENTFS_TRY(Acquire(node, LockMode::kExclusive));
    node.mu.Unlock();
    return Acquire(node, mode);
  }
  node.mu.Lock();
  if (node.state == ViewNode::State::kLoaded) [[likely]]
    return Ok();
  Result<void> loaded =
      node.state == ViewNode::State::kGone ? Result<void>(Error(ESTALE)) : LoadLocked(node);
  if (!loaded.ok()) node.mu.Unlock();
  return loaded;
}

void ViewNodes::Release(ViewNode& node, LockMode mode) {
  if (mode == LockMode::kShared) {
    node.mu.ReaderUnlock();
  } else {
    node.mu.Unlock();
  }
}

Result<void> ViewNodes::LoadLocked(ViewNode& node) {
  const bool base_node = (node.id().value & kBaseNodeBit) != 0;
  if (!base_node || volume_.changed_base_nodes.Contains(node.id())) {
    AGENTFS_ASSIGN(const bool found, LoadRecordLocked(node));
    if (found) return Ok();
  }
  if (node.id() == kRootNode) return LoadRootLocked(node);
  if (node.base != nullptr) {
    Result<BaseStat> stat = volume_.base->Stat(node.base->path);
    if (stat.ok() && BaseNodeId(stat->identity) == node.id()) {
      FillFromBase(node, std::string(node.base->path), *stat);
      return Ok();
    }
  }
  node.state = ViewNode::State::kGone;
  return Error(ESTALE);
}

Result<void> ViewNodes::LoadRootLocked(ViewNode& root) {
  if (volume_.base == nullptr) return Damaged("nodes", kRootNode);
  AGENTFS_ASSIGN(BaseStat stat, volume_.base->Stat(""));
  FillFromBase(root, "", stat);
  return Ok();
}

Result<bool> ViewNodes::LoadRecordLocked(ViewNode& node) {
  // What was just forgotten the store still has.
  AGENTFS_TRY(journal().WaitCommitted(node.batch));
  NodeRecord record;
  LayerId layer;
  AGENTFS_ASSIGN(const bool found,
                 FindNearest(tables::kNodes, KeyInt(node.id().value),
                             [&](const RowView& row, LayerId row_layer) -> Result<void> {
                               layer = row_layer;
                               if (!DecodeNode(row.value, &record) ||
                                   (record.has_base && volume_.base == nullptr)) {
                                 return Damaged("nodes", node.id());
                               }
                               return Ok();
                             }));
  if (found && record.nlink == 0 && layer == open_layer()) {
    absl::MutexLock lock(&forgotten_mu_);
    forgotten_[node.id()] = {layer, record.born};
  }
  if (!found || record.nlink == 0) return false;
  FillFromRecord(node, std::move(record), layer);
  return true;
}

void ViewNodes::FillFromRecord(ViewNode& node, NodeRecord record, LayerId layer) {
  node.mode = record.mode;
  node.uid = record.uid;
  node.gid = record.gid;
  node.nlink = record.nlink;
  node.rdev = record.rdev;
  node.size = record.size;
  node.atime = record.atime;
  node.mtime = record.mtime;
  node.ctime = record.ctime;
  node.btime = record.btime;
  node.parent = record.parent;
  node.born = record.born;
  node.kind = record.kind;
  node.content_id = record.content;
  node.stored = record.stored;
  node.anchored = true;
  node.layer = layer;
  node.base.reset();
  if (record.has_base) {
    node.base =
        std::make_unique<BaseLink>(BaseLink{std::move(record.base_path), record.base_signature});
    FollowMove(volume_, node.id(), node.mode, node.base->signature, &node.base->path);
  }
  if (node.type() == S_IFLNK) {
    node.part = std::make_unique<std::string>(std::move(record.target));
  } else if (record.base_end != 0 || record.object) {
    FileContent& content = node.NeedContent();
    content.base_end = record.base_end;
    content.object = record.object;
    content.object_layer = layer;
    content.object_recorded = static_cast<bool>(record.object);
  }
  node.state = ViewNode::State::kLoaded;
}

void FollowMove(VolumeState& volume, NodeId node, uint32_t mode, const BaseSignature& signature,
                std::string* path) {
  auto note = volume.kept.PlaceOf(MoveKey(node));
  if (!note) return;
  const Result<BaseStat> old = volume.base->Stat(*path);
  if (old.ok() && IsWhatWasSeen(node, mode, signature, *old)) return;
  if ((node.value & kBaseNodeBit) != 0) {
    *path = std::move(*note);
    return;
  }
  OwnPlace place = OwnPlace::Parse(*note);
  const Result<BaseStat> now = volume.base->Stat(place.path);
  if (now.ok() && now->identity == place.identity) *path = std::move(place.path);
}

uint64_t ViewNodes::BaseStamp(const ViewNode& directory) const {
  const Directory* names = directory.directory();
  if (names == nullptr || volume_.base == nullptr) return 0;
  const uint64_t changes = volume_.base_changes.load();
  const uint64_t generation = volume_.base->watch_generation();
  return generation != 0 && names->watched.load() == generation ? changes : 0;
}

uint64_t ViewNodes::FreshStamp() const {
  if (volume_.base == nullptr || !volume_.base->HasToldAll()) return 0;
  return volume_.base_changes.load();
}

Attr ViewNodes::FreshAttrLocked(const ViewNode& node) {
  Attr attr = AttrInMemory(node);
  attr.blocks = node.base->blocks;
  return attr;
}

void ViewNodes::FillFromBase(ViewNode& node, std::string path, const BaseStat& stat,
                             uint64_t stamp) {
  const Attr& attr = stat.attr;
  node.mode = attr.mode;
  node.uid = attr.uid;
  node.gid = attr.gid;
  node.nlink = attr.nlink;
  node.rdev = static_cast<uint32_t>(attr.rdev);
  node.size = attr.size;
  node.atime = attr.atime;
  node.mtime = attr.mtime;
  node.ctime = attr.ctime;
  node.btime = attr.btime;
  node.stored = 0;
  node.kind = node.IsRegular() ? ContentKind::kBase : ContentKind::kNone;
  if (node.base == nullptr) node.base = std::make_unique<BaseLink>();
  if (node.base->path != path) node.base->path = std::move(path);
  node.base->signature = stat.signature;
  node.base->blocks = attr.blocks;
  // A directory must be watched itself, a file under all its names.
  const bool told = node.IsDirectory() ? BaseStamp(node) != 0 : node.nlink == 1;
  node.base->stamp = told ? stamp : 0;
  node.state = ViewNode::State::kLoaded;
}

Result<NodeRef> ViewNodes::GetBaseNode(std::string path, const BaseStat& stat, NodeId parent,
                                       uint64_t stamp) {
  NodeRef ref = table_.Get(BaseNodeId(stat.identity));
  ViewNode& node = AsViewNode(*ref);
  absl::MutexLock lock(&node.mu);
  if (node.state == ViewNode::State::kLoaded) {
    if (!node.HasRecord()) {
      node.orphan_layers.reset();
      node.parent = parent;
      FillFromBase(node, std::move(path), stat, stamp);
    }
    return ref;
  }
  if (volume_.changed_base_nodes.Contains(node.id())) {
    AGENTFS_ASSIGN(const bool found, LoadRecordLocked(node));
    if (found) return ref;
  }
  node.parent = parent;
  FillFromBase(node, std::move(path), stat, stamp);
  return ref;
}

Result<NodeRef> ViewNodes::ParentOf(ViewNode& node) {
  if (node.id() == kRootNode) return NodeRef(&node);
  NodeId parent;
  std::string base_path;
  {
    AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(*this, node, LockMode::kShared));
    parent = node.parent;
    if (node.base != nullptr) base_path = node.base->path;
  }
  const bool base_node = (parent.value & kBaseNodeBit) != 0;
  NodeRef ref = table_.Find(parent);
  if (!ref && parent && (!base_node || volume_.changed_base_nodes.Contains(parent))) {
    ref = table_.Get(parent);
  }
  if (ref && !base_node) return ref;
  if (ref) {
    // Its record may be another branch's, or have gone with a restore: only loading it tells.
    Result<NodeLock> lock = NodeLock::Take(*this, AsViewNode(*ref), LockMode::kShared);
    if (lock.ok()) return ref;
    if (lock.code() != ESTALE) return lock.error();
  }
  // A parent without a record: then the name, too, is the base's.
  const size_t slash = base_path.rfind('/');
  if (slash == std::string::npos) return table_.Get(kRootNode);
  base_path.resize(slash);
  AGENTFS_ASSIGN(BaseStat stat, volume_.base->Stat(base_path));
  return GetBaseNode(std::move(base_path), stat, NodeId());
}

Result<BaseStat> ViewNodes::StatBaseLocked(const ViewNode& node) {
  Result<BaseStat> stat = volume_.base->Stat(node.base->path);
  if (!stat.ok()) return stat.code() == ENOENT ? Error(ESTALE) : stat.error();
  const bool same = node.id() == kRootNode || BaseNodeId(stat->identity) == node.id();
  if (!same) return Error(ESTALE);
  return stat;
}

Result<Attr> ViewNodes::AttrLocked(ViewNode& node) {
  Attr attr = AttrInMemory(node);
  if (node.base == nullptr || volume_.base == nullptr) return attr;
  if (!node.HasRecord()) {
    if (node.base->stamp != 0 && IsFreshLocked(node, FreshStamp())) return FreshAttrLocked(node);
    Result<BaseStat> stat = StatBaseLocked(node);
    if (!stat.ok()) {
      if (node.nlink == 0) return attr;  // unlinked here and gone there, but still in use
      return stat.error();
    }
    const uint32_t nlink = node.nlink == 0 ? 0 : stat->attr.nlink;
    attr = stat->attr;
    attr.node = node.id();
    attr.nlink = nlink;
    return attr;
  }
  if (node.kind == ContentKind::kBase) {
    if (Result<BaseStat> stat = StatBaseLocked(node); stat.ok()) {
      attr.blocks = stat->attr.blocks;
      attr.size = stat->attr.size;
      if (!(stat->signature == node.base->signature)) attr.mtime = stat->attr.mtime;
    }
  } else if (node.content() != nullptr) {
    // Our pages lie over the base's: together they are no more than the file.
    const uint64_t both = std::min(node.size, node.stored + node.content()->base_end);
    attr.blocks = (std::max(node.stored, both) + 511) / 512;
  }
  return attr;
}

Result<Attr> ViewNodes::AttrLocked(ViewNode& node, const std::optional<BaseStat>& stat) {
  if (!stat || node.HasRecord()) return AttrLocked(node);
  Attr attr = stat->attr;
  attr.node = node.id();
  return attr;
}

// ---- what hangs on nodes

Result<void> ViewNodes::LoadDirectoryLocked(ViewNode& node) {
  if (node.directory() == nullptr) node.part = std::make_unique<Directory>();
  Directory& directory = *node.directory();
  if (directory.loaded) return Ok();
  if (!node.HasRecord()) {
    directory.loaded = true;
    return Ok();
  }
  directory.Clear();
  const std::string prefix = KeyInt(node.id().value);
  AGENTFS_TRY(ScanNearest(ScanRange{tables::kEntries, prefix, {}, {}, Order::kAscending, false},
                          [&](const RowView& row, LayerId layer, bool older) -> Result<void> {
                            auto key = ParseEntryKey(row.key);
                            EntryRecord record;
                            if (!key || key->name.empty() || key->name.size() > 255 ||
                                !DecodeEntry(row.value, &record)) {
                              return Damaged("entries", node.id());
                            }
                            if (record.IsForgotten()) {
                              directory.forgets = true;
                              return Ok();
                            }
                            NameEntry* entry = directory.Insert(key->name);
                            entry->id = record.node;
                            entry->layer = layer;
                            entry->type = static_cast<uint8_t>(record.type >> 12);
                            entry->SetSince(record.since_ms);
                            entry->shadows = older || node.base != nullptr;
                            return Ok();
                          }));
  directory.loaded = true;
  return Ok();
}

Result<void> ViewNodes::LoadXattrsLocked(ViewNode& node) {
  if (node.xattrs.loaded()) return Ok();
  XattrMap loaded;
  if (node.HasRecord()) {
    const std::string prefix = KeyInt(node.id().value);
    AGENTFS_TRY(ScanNearest(ScanRange{tables::kXattrs, prefix, {}, {}, Order::kAscending, false},
                            [&](const RowView& row, LayerId, bool) -> Result<void> {
                              auto key = ParseEntryKey(row.key);
                              int64_t present = 0;
                              if (!key || !DecodeInt(row.value, &present)) {
                                return Damaged("xattrs", node.id());
                              }
                              if (key->name == kOriginalXattr) {
                                node.has_original = present != 0;
                              } else if (present) {
                                loaded[key->name] = Buffer::Copy(row.blob);
                              }
                              return Ok();
                            }));
  } else if (node.base != nullptr) {
    AGENTFS_ASSIGN(auto names, volume_.base->ListXattrs(node.base->path));
    for (const std::string& name : names) {
      Result<std::string> value = volume_.base->GetXattr(node.base->path, name);
      if (value.ok()) loaded[name] = Buffer::Copy(*value);
    }
  }
  node.xattrs.Set(std::move(loaded));
  return Ok();
}

Result<void> ViewNodes::LoadChunkLocked(ViewNode& node, uint64_t index) {
  Chunk& chunk = node.NeedContent().chunk(index);
  if (chunk.known) return Ok();
  if (node.kind == ContentKind::kChunks) {
    const std::string prefix = KeyWriter().Int(node.content_id.value).Int(index).Take();
    AGENTFS_TRY(
        FindNearest(tables::kData, prefix, [&](const RowView& row, LayerId layer) -> Result<void> {
          int64_t present = 0;
          if (!DecodeInt(row.value, &present) || row.blob.size() > volume_.layout.chunk_size) {
            return Damaged("data", node.id());
          }
          chunk.layer = layer;
          chunk.present = present != 0;
          if (chunk.present) chunk.bytes = row.TakeBlob();
          chunk.stored = static_cast<uint32_t>(chunk.bytes.size());
          return Ok();
        }));
  }
  chunk.known = true;
  ChunkLoaded(node, index);
  return Ok();
}

Result<bool> ViewNodes::ReadChunkLocked(ViewNode& node, uint64_t index, uint64_t offset,
                                        std::span<char> out) {
  const std::string prefix = KeyWriter().Int(node.content_id.value).Int(index).Take();
  const auto read = [&](const RowView& row, LayerId) -> Result<void> {
    int64_t present = 0;
    const size_t size = row.BlobSize();
    if (!DecodeInt(row.value, &present) || size > volume_.layout.chunk_size) {
      return Damaged("data", node.id());
    }
    const size_t length =
        present != 0 && size > offset ? std::min<size_t>(out.size(), size - offset) : 0;
    std::memset(out.data() + length, 0, out.size() - length);
    return row.ReadBlob(offset, out.first(length));
  };
  return FindNearest(tables::kData, prefix, read, BlobAccess::kInPieces);
}

Result<Span*> ViewNodes::LoadSpanLocked(ViewNode& node, uint64_t index) {
  FileContent& content = node.NeedContent();
  if (auto it = content.spans.find(index); it != content.spans.end()) return &it->second;
  Span span;
  if (node.kind == ContentKind::kObject) {
    const std::string prefix = KeyWriter().Int(node.content_id.value).Int(index).Take();
    AGENTFS_TRY(
        FindNearest(tables::kSpans, prefix, [&](const RowView& row, LayerId layer) -> Result<void> {
          span.layer = layer;
          if (!DecodeRuns(row.blob, &span.runs)) {
            return Damaged("spans", node.id());
          }
          return Ok();
        }));
  }
  return &(content.spans[index] = std::move(span));
}

Result<std::vector<uint64_t>> ViewNodes::RowsFromLocked(ViewNode& node, TableId table,
                                                        uint64_t first) {
  std::vector<uint64_t> rows;
  if (node.content_id) {
    const std::string prefix = KeyInt(node.content_id.value), lower = KeyInt(first);
    AGENTFS_TRY(ScanNearest(ScanRange{table, prefix, lower, {}, Order::kAscending, false},
                            [&](const RowView& row, LayerId, bool) -> Result<void> {
                              auto key = ParseContentKey(row.key);
                              if (!key) return Damaged("data", node.id());
                              rows.push_back(key->index);
                              return Ok();
                            }));
  }
  if (FileContent* content = node.content()) {
    for (auto it = content->others.lower_bound(first); it != content->others.end(); ++it) {
      if (it->second.layer) rows.push_back(it->first);
    }
    for (auto it = content->spans.lower_bound(first); it != content->spans.end(); ++it) {
      if (it->second.layer) rows.push_back(it->first);
    }
    if (first == 0 && content->first.layer) rows.push_back(0);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace agentfs
