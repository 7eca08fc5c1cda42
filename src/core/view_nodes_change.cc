// SPDX-License-Identifier: Apache-2.0
//
// Changing: from memory into the journal; and what stays in memory.
#include <string>
#include <utility>

#include "core/originals.h"
#include "core/view_nodes.h"
#include "store/schema.h"

namespace agentfs {

// ---- copy-up

Result<void> ViewNodes::PrepareRecordLocked(ViewNode& node) {
  if (node.HasRecord() || node.base == nullptr) return Ok();
  if (node.nlink != 0) {
    AGENTFS_ASSIGN(BaseStat stat, StatBaseLocked(node));
    FillFromBase(node, std::string(node.base->path), stat);
  }
  AGENTFS_TRY(LoadXattrsLocked(node));
  if (node.type() == S_IFLNK) {
    AGENTFS_ASSIGN(std::string target, volume_.base->ReadLink(node.base->path));
    node.part = std::make_unique<std::string>(std::move(target));
  }
  if (node.IsDirectory()) AGENTFS_TRY(LoadDirectoryLocked(node));
  ApplyCopyUpPolicy(node);
  return Ok();
}

Result<void> ViewNodes::RefreshBaseLocked(ViewNode& node) {
  if (node.kind != ContentKind::kBase) return Ok();
  Result<BaseStat> stat = StatBaseLocked(node);
  if (!stat.ok()) {
    return Error(EIO,
                 "/" + node.base->path + " is no longer in the base: " + stat.error().message(),
                 "restore the base file, or discard the branch's version of it");
  }
  Buffer original;
  if (!node.has_original) {
    AGENTFS_ASSIGN(original, ReadOriginal(node.base->path));
  }
  node.base->signature = stat->signature;
  SetSize(node, stat->attr.size);
  if (!original) return Ok();
  Journal::Change change(journal());
  PutNode(change, node);
  PutOriginal(change, node, original);
  return Ok();
}

void ViewNodes::ApplyCopyUpPolicy(ViewNode& node) {
  const CopyUpPolicy& policy = volume_.options.copy_up;
  constexpr uint32_t kPermissions = 07777;
  if (node.type() != S_IFLNK) {
    if (policy.mode == CopyUpPolicy::Mode::kCloneUmask) {
      node.mode &= ~policy.umask;
    } else if (policy.mode == CopyUpPolicy::Mode::kFixed) {
      const uint32_t fixed =
          node.IsDirectory() ? policy.fixed_directory_mode : policy.fixed_file_mode;
      node.mode = (node.mode & ~kPermissions) | (fixed & kPermissions);
    }
  }
  if (policy.acl == CopyUpPolicy::Acl::kClone) return;
  // map-basic keeps what the mode bits say of an access list, which is what the kernel already
  // shows in them; in both cases the lists themselves go.
  XattrMap& xattrs = node.xattrs.edit();
  xattrs.erase("system.posix_acl_default");
  const bool had_list = xattrs.erase("system.posix_acl_access") > 0;
  // With a list the group bits are its mask; dropping it must not widen the group's access.
  if (had_list && policy.acl == CopyUpPolicy::Acl::kDrop) node.mode &= ~uint32_t{070};
}

// ---- records

NodeRecord ViewNodes::ToRecord(const ViewNode& node) const {
  NodeRecord record;
  record.mode = node.mode;
  record.uid = node.uid;
  record.gid = node.gid;
  record.nlink = node.nlink;
  record.rdev = node.rdev;
  record.kind = node.kind;
  record.size = node.size;
  record.atime = node.atime;
  record.mtime = node.mtime;
  record.ctime = node.ctime;
  record.btime = node.btime;
  record.parent = node.parent;
  record.born = node.born;
  record.content = node.content_id;
  record.stored = node.stored;
  if (const FileContent* content = node.content()) {
    record.base_end = content->base_end;
    const bool writes = content->object_layer == open_layer() && content->object_recorded;
    if (writes) record.object = content->object;
  }
  if (node.base != nullptr) {
    record.has_base = true;
    record.base_path = node.base->path;
    record.base_signature = node.base->signature;
  }
  if (node.target() != nullptr) record.target = *node.target();
  return record;
}

void ViewNodes::PutNode(Journal::Change& change, ViewNode& node) {
  const LayerId open = open_layer();
  const bool first_at_all = !node.HasRecord();
  const bool first_in_layer = node.layer != open;
  if (first_at_all) {
    if (!node.born) node.born = open;
    if ((node.id().value & kBaseNodeBit) != 0) volume_.changed_base_nodes.Add(node.id());
    if (node.nlink > 0) CountNode(node, +1);
  }
  node.layer = open;
  if (first_in_layer) {
    const std::optional<LayerId> forgotten = TakeForgotten(node.id(), open);
    if (!forgotten) volume_.node_records.fetch_add(1, std::memory_order_relaxed);
    // Older layers have rows of it, which must not show again when it goes.
    if (forgotten && first_at_all) node.born = *forgotten;
  }
  RowValue value = EncodeNode(ToRecord(node));
  if (!first_in_layer && node.slot != nullptr && node.batch == change.batch()) {
    node.slot->value = std::move(value);
  } else {
    node.slot = change.PutPinned(node, tables::kNodes, NodeKey(node.id(), open), value);
    node.batch = change.batch();
  }
  if (FileContent* content = node.content()) content->needed_batch = change.batch();
  if (first_at_all) {
    for (const auto& [name, bytes] : node.xattrs.get()) PutXattr(change, node, name, &bytes);
  }
  if (first_in_layer && node.orphan_layers != nullptr) PutOrphan(change, node);
  volume_.LayerChanged(layer());
}

void ViewNodes::PutXattr(Journal::Change& change, ViewNode& node, std::string_view name,
                         const Buffer* value) {
  const RowKey key = XattrKey(node.id(), name, open_layer());
  if (value != nullptr) {
    change.Put(tables::kXattrs, key, EncodeInt(1), *value);
  } else if (node.born == open_layer()) {
    change.Delete(tables::kXattrs, key);
  } else {
    change.Put(tables::kXattrs, key, EncodeInt(0));
  }
}

void ViewNodes::CountNode(const ViewNode& node, int64_t sign) {
  LayerCounters& counters = layer()->counters;
  if (node.IsDirectory()) {
    counters.directories.fetch_add(sign, std::memory_order_relaxed);
  } else {
    counters.files.fetch_add(sign, std::memory_order_relaxed);
  }
  if (node.IsRegular()) {
    counters.total_size.fetch_add(sign * static_cast<int64_t>(node.size),
                                  std::memory_order_relaxed);
  }
}

void ViewNodes::CountStored(int64_t bytes) {
  layer()->counters.stored_bytes.fetch_add(bytes, std::memory_order_relaxed);
  volume_.stored_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void ViewNodes::SetSize(ViewNode& node, uint64_t size) {
  if (node.HasRecord() && node.nlink > 0) {
    layer()->counters.total_size.fetch_add(
        static_cast<int64_t>(size) - static_cast<int64_t>(node.size), std::memory_order_relaxed);
  }
  node.size = size;
}

// ---- the end of nodes and of content

// Whether all the rows of the node in the open layer are known without asking the store.
bool ViewNodes::IsSimpleLocked(const ViewNode& node) const {
  if (!node.xattrs.loaded() || !node.xattrs.get().empty() || node.has_original) return false;
  if (node.IsDirectory()) {
    return node.born == open_layer() && node.base == nullptr && node.directory() != nullptr &&
           node.directory()->size() == 0;
  }
  return node.kind == ContentKind::kNone || node.kind == ContentKind::kBase ||
         HasOneChunkLocked(node);
}

// Whether the content's only row can be chunk 0's. Where large files are objects, chunks of others
// have no further rows.
bool ViewNodes::HasOneChunkLocked(const ViewNode& node) const {
  const FileContent* content = node.content();
  if (node.kind != ContentKind::kChunks || content == nullptr) return false;
  if (!content->first.known || !content->others.empty()) return false;
  if (node.size > volume_.layout.chunk_size) return false;
  const bool small_only = volume_.blobs != nullptr && !volume_.options.single_file;
  return content->only_first || small_only;
}

void ViewNodes::RemoveNow(Journal::Change& change, ViewNode& node) {
  const LayerId open = open_layer();
  if (FileContent* content = node.content(); content != nullptr && content->first.layer == open) {
    change.Delete(tables::kData, ContentKey(node.content_id, 0, open));
    CountStored(-static_cast<int64_t>(content->first.stored));
  }
  if (node.born == open) {
    change.Delete(tables::kNodes, NodeKey(node.id(), open));
    volume_.node_records.fetch_sub(1, std::memory_order_relaxed);
    volume_.LayerChanged(layer());
    node.layer = node.born = LayerId();
  } else {
    node.kind = ContentKind::kNone;
    node.content_id = ContentId();
    PutNode(change, node);
  }
  node.state = ViewNode::State::kGone;
}

void ViewNodes::PutOrphan(Journal::Change& change, ViewNode& node) {
  node.orphan_layers->push_back(open_layer());
  change.Put(tables::kOrphans, OrphanKey(open_layer(), node.id(), ContentId()), "");
}

void ViewNodes::PutUnlinked(Journal::Change& change, ViewNode& node) {
  if (!node.HasRecord()) return;  // the base's: there is nothing of ours to remove
  CountNode(node, -1);
  volume_.growing.End(change, node.content_id);
  if (node.users() <= 1 && IsSimpleLocked(node)) {
    RemoveNow(change, node);
    return;
  }
  node.orphan_layers = std::make_unique<std::vector<LayerId>>();
  const bool put_by_node = node.layer != open_layer();
  if (!put_by_node) PutOrphan(change, node);
  PutNode(change, node);
}

std::optional<LayerId> ViewNodes::TakeForgotten(NodeId node, LayerId layer) {
  absl::MutexLock lock(&forgotten_mu_);
  auto it = forgotten_.find(node);
  if (it == forgotten_.end()) return std::nullopt;
  const Forgotten found = it->second;
  forgotten_.erase(it);
  return found.layer == layer ? std::optional<LayerId>(found.born) : std::nullopt;
}

void ViewNodes::PutForgotten(Journal::Change& change, ViewNode& node) {
  CountNode(node, -1);
  for (const auto& [name, value] : node.xattrs.get()) PutXattr(change, node, name, nullptr);
  if (node.has_original) PutXattr(change, node, kOriginalXattr, nullptr);
  if (node.IsRegular()) DropContent(change, node);
  const LayerId open = open_layer();
  if (node.born == open) {
    change.DeletePinned(node, tables::kNodes, NodeKey(node.id(), open));
    node.batch = change.batch();
    volume_.node_records.fetch_sub(1, std::memory_order_relaxed);
    volume_.LayerChanged(layer());
  } else {
    node.nlink = 0;
    PutNode(change, node);
    absl::MutexLock lock(&forgotten_mu_);
    forgotten_[node.id()] = {open, node.born};
  }
  node.part.Clear();
  node.xattrs.Forget();
  node.has_original = false;
  node.layer = node.born = LayerId();
  node.anchored = false;
  node.slot = nullptr;
  node.state = ViewNode::State::kGone;
}

void ViewNodes::PutRelinked(Journal::Change& change, ViewNode& node) {
  for (LayerId layer : *node.orphan_layers) {
    change.Delete(tables::kOrphans, OrphanKey(layer, node.id(), ContentId()));
  }
  node.orphan_layers.reset();
  node.linkable = false;
  CountNode(node, +1);
}

void ViewNodes::DropContent(Journal::Change& change, ViewNode& node) {
  FileContent* content = node.content();
  if (content != nullptr) volume_.content_cache.Resized(-content->CachedBytes());
  volume_.growing.End(change, node.content_id);
  if (HasOneChunkLocked(node)) {
    if (content->first.layer == open_layer()) {
      change.Delete(tables::kData, ContentKey(node.content_id, 0, open_layer()));
      CountStored(-static_cast<int64_t>(content->first.stored));
    }
  } else if (node.content_id && node.layer == open_layer()) {
    const Orphan orphan{open_layer(), NodeId(), node.content_id};
    change.Put(tables::kOrphans, OrphanKey(orphan.layer, orphan.node, orphan.content), "");
    change.AfterCommit([this, orphan] { volume_.reaper.Add(orphan); });
  }
  node.part.Clear();
  node.content_id = ContentId();
  node.kind = ContentKind::kNone;
  node.stored = 0;
}

// ---- memory

void ViewNodes::NodeDropped(ViewNode& node) {
  if (FileContent* content = node.content()) volume_.content_cache.Resized(-content->CachedBytes());
  if (node.orphan_layers != nullptr) {
    for (LayerId layer : *node.orphan_layers) volume_.reaper.Add({layer, node.id(), ContentId()});
  }
}

void ViewNodes::ChunkLoaded(ViewNode& node, uint64_t index) {
  Chunk& chunk = node.NeedContent().chunk(index);
  if (!chunk.bytes || chunk.cached) return;
  chunk.cached = true;
  volume_.content_cache.Added(*this, node.id(), index, chunk.bytes.capacity());
}

bool ViewNodes::DropChunk(NodeId id, uint64_t index) {
  NodeRef ref = table_.Find(id);
  if (!ref) return true;
  ViewNode& node = AsViewNode(*ref);
  if (!node.mu.TryLock()) return false;
  FileContent* content = node.content();
  Chunk* chunk = content != nullptr ? content->FindChunk(index) : nullptr;
  bool dropped = true;
  if (chunk != nullptr && chunk->cached) {
    dropped = journal().IsCommitted(chunk->batch);
    if (dropped) {
      volume_.content_cache.Resized(-static_cast<int64_t>(chunk->bytes.capacity()));
      *chunk = Chunk();
      if (index != 0) content->others.erase(index);
    }
  }
  node.mu.Unlock();
  return dropped;
}

void ViewNodes::EvictChildren(ViewNode& directory, size_t* wanted) {
  std::vector<NodeRef> dropped;  // released after the lock is
  if (!directory.mu.TryLock()) return;
  if (Directory* entries = directory.directory()) {
    for (NameEntry* entry : *entries) {
      if (*wanted == 0) break;
      if (!entry->node) continue;
      ViewNode& child = AsViewNode(*entry->node);
      if (child.users() != 1 || !child.mu.TryLock()) continue;
      const bool clean = journal().IsCommitted(child.batch) && child.pins.load() == 0;
      child.mu.Unlock();
      if (!clean) continue;
      dropped.push_back(std::move(entry->node));
      entry->node = NodeRef();
      --*wanted;
    }
  }
  directory.mu.Unlock();
}

void ViewNodes::Evict(size_t wanted) {
  // Only directories are held on to: a node that somebody else holds cannot go.
  std::vector<NodeRef> directories = table_.All();
  std::erase_if(directories, [](const NodeRef& ref) {
    ViewNode& node = AsViewNode(*ref);
    if (!node.mu.TryLock()) return true;
    const bool directory = node.directory() != nullptr;
    node.mu.Unlock();
    return !directory;
  });
  while (wanted > 0 && !directories.empty()) {
    const NodeRef directory = std::move(directories.back());
    directories.pop_back();
    EvictChildren(AsViewNode(*directory), &wanted);
  }
}

void ViewNodes::Reset(Layer* layer, uint64_t batch) {
  layer_.store(layer, std::memory_order_release);
  needed_batch_ = batch;
  for (const NodeRef& ref : table_.All()) {
    ViewNode& node = AsViewNode(*ref);
    NodePart part;  // destroyed after the lock is released
    absl::MutexLock lock(&node.mu);
    if (FileContent* content = node.content()) {
      volume_.content_cache.Resized(-content->CachedBytes());
    }
    part = std::move(node.part);
    if (node.orphan_layers != nullptr) {
      for (LayerId orphaned : *node.orphan_layers) {
        volume_.reaper.Add({orphaned, node.id(), ContentId()});
      }
      node.orphan_layers.reset();
    }
    node.xattrs.Forget();
    node.has_original = false;
    node.layer = LayerId();
    node.born = LayerId();
    node.anchored = false;
    node.slot = nullptr;
    node.state = ViewNode::State::kUnloaded;
  }
}

}  // namespace agentfs
