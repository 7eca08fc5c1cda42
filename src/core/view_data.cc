// SPDX-License-Identifier: Apache-2.0
//
// Data: the entry points; core/file_io.h does the work.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/permissions.h"
#include "core/view.h"
#include "core/view_note.h"
#include "sys/fs_stats.h"

namespace agentfs {
namespace {

// Chunks that a read tries to drop when there are too many: more than it can have added.
constexpr size_t kTrimTries = 64;

constexpr size_t kCopyPiece = size_t{1} << 20;
constexpr uint64_t kUnlimitedBlocks = uint64_t{1} << 40;

Result<void> CheckRegular(const ViewNode& node) {
  if (node.IsDirectory()) return Error(EISDIR);
  if (!node.IsRegular()) return Error(EINVAL);
  return Ok();
}

}  // namespace

Result<void> View::Open(const Caller& caller, Node& base_node, int flags) {
  ViewNode& node = AsViewNode(base_node);
  const int access = flags & O_ACCMODE;
  const bool writes = access != O_RDONLY;
  const bool truncates = (flags & O_TRUNC) != 0;
  {
    Operation operation(*this);
    AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kShared));
    if (node.type() == S_IFLNK) return Error(ELOOP);
    if ((writes || truncates) && node.IsDirectory()) return Error(EISDIR);
    if ((flags & O_DIRECTORY) != 0 && !node.IsDirectory()) return Error(ENOTDIR);
    int mask = access == O_WRONLY ? W_OK : access == O_RDWR ? R_OK | W_OK : R_OK;
    if (truncates) mask |= W_OK;
    AGENTFS_TRY(CheckAccess(caller, node, mask));
    if (nodes_.read_only() && (writes || truncates) && node.IsRegular()) return Error(EROFS);
    if (!truncates || !node.IsRegular()) return Ok();
  }
  AttrChange change;
  change.size = 0;
  // The check was made above; a file's owner may open what its mode lets nobody truncate.
  AGENTFS_TRY(SetAttr(caller, node, change));
  return Ok();
}

Result<size_t> View::Read(Node& node, uint64_t offset, std::span<char> out) {
  Operation operation(*this);
  Result<size_t> count = io_.Read(AsViewNode(node), offset, out);
  ContentCache& cache = nodes_.volume().content_cache;
  if (cache.OverBudget()) [[unlikely]]
    cache.Trim(kTrimTries);
  return count;
}

Result<size_t> View::Write(const Caller& caller, Node& node, uint64_t offset,
                           std::span<const char> data) {
  std::optional<uint64_t> at = offset;
  return WriteTo(caller, AsViewNode(node), data, at);
}

Result<uint64_t> View::Append(const Caller& caller, Node& node, std::span<const char> data) {
  std::optional<uint64_t> at;
  AGENTFS_TRY(WriteTo(caller, AsViewNode(node), data, at));
  return *at;
}

Result<size_t> View::WriteTo(const Caller& caller, ViewNode& node, std::span<const char> data,
                             std::optional<uint64_t>& at) {
  Operation operation(*this);
  AGENTFS_TRY(Admit(Growth::kGrows, data.size()));
  Note note(*this, OpKind::kWrite, caller, node);
  note.Attach(node, data.size());
  Anchor anchor(*this, node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  AGENTFS_TRY(CheckRegular(node));
  if (!at) {
    AGENTFS_ASSIGN(const Attr attr, nodes_.AttrLocked(node));
    at = attr.size;
  }
  Result<size_t> written = io_.WriteLocked(caller, node, *at, data);
  if (written.ok()) NotifyNode(ChangeEvent::Kind::kContent, caller, node);
  return written;
}

Result<void> View::Allocate(const Caller& caller, Node& base_node, AllocateMode mode,
                            uint64_t offset, uint64_t length) {
  Operation operation(*this);
  AGENTFS_TRY(Admit(mode == AllocateMode::kPunchHole ? Growth::kFrees : Growth::kGrows));
  ViewNode& node = AsViewNode(base_node);
  Note note(*this, OpKind::kAllocate, caller, node);
  note.Attach(node, length);
  Anchor anchor(*this, node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  if (node.IsDirectory()) return Error(EISDIR);
  if (!node.IsRegular()) return Error(ENODEV);
  AGENTFS_TRY(io_.AllocateLocked(caller, node, mode, offset, length));
  NotifyNode(ChangeEvent::Kind::kContent, caller, node);
  return Ok();
}

Result<uint64_t> View::Seek(Node& base_node, uint64_t offset, SeekTarget target) {
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  AGENTFS_TRY(CheckRegular(node));
  return io_.SeekLocked(node, offset, target);
}

Result<uint64_t> View::CopyRange(const Caller& caller, Node& source, uint64_t source_offset,
                                 Node& target, uint64_t target_offset, uint64_t length) {
  if (source_offset > kMaxFileSize || target_offset > kMaxFileSize) return Error(EINVAL);
  length = std::min({length, kMaxFileSize - source_offset, kMaxFileSize - target_offset});
  {
    AGENTFS_ASSIGN(Attr attr, GetAttr(source));
    if (S_ISDIR(attr.mode)) return Error(EISDIR);
    if (!S_ISREG(attr.mode)) return Error(EINVAL);
    length = source_offset < attr.size ? std::min(length, attr.size - source_offset) : 0;
  }
  if (source.id() == target.id()) {
    const uint64_t low = std::min(source_offset, target_offset);
    const uint64_t high = std::max(source_offset, target_offset);
    if (high - low < length) return Error(EINVAL);
  }
  {
    Operation operation(*this);
    AGENTFS_TRY(Admit(Growth::kGrows));
    Note note(*this, OpKind::kWrite, caller, AsViewNode(target));
    note.Attach(AsViewNode(target), length);
    Anchor anchor(*this, AsViewNode(target));
    AGENTFS_ASSIGN(const bool shared, io_.CloneRange(caller, AsViewNode(source), source_offset,
                                                     AsViewNode(target), target_offset, length));
    if (shared) {
      NotifyNode(ChangeEvent::Kind::kContent, caller, AsViewNode(target));
      return length;
    }
  }
  std::vector<char> buffer(std::min<uint64_t>(length, kCopyPiece));
  uint64_t copied = 0;
  while (copied < length) {
    const size_t piece = std::min<uint64_t>(buffer.size(), length - copied);
    AGENTFS_ASSIGN(size_t got, Read(source, source_offset + copied, {buffer.data(), piece}));
    if (got == 0) break;
    Result<size_t> put = Write(caller, target, target_offset + copied, {buffer.data(), got});
    if (!put.ok()) return copied > 0 ? Result<uint64_t>(copied) : put.error();
    copied += got;
  }
  return copied;
}

Result<int> View::NewHostFile() {
  const VolumeState& volume = nodes_.volume();
  const Limits& limits = volume.options.limits;
  // Nobody would ask us before a limit is passed.
  const bool limited = limits.max_total_bytes != 0 || limits.max_file_bytes != 0;
  if (nodes_.read_only() || volume.blobs == nullptr || volume.options.single_file || limited) {
    return Error(EOPNOTSUPP);
  }
  // Nor before the disk is full.
  if (!nodes_.journal().HasRoom()) return Error(EOPNOTSUPP);
  return volume.blobs->NewFile();
}

Result<void> View::TakeContent(const Caller& caller, Node& base_node, const HostContent& content) {
  Operation operation(*this);
  AGENTFS_TRY(Admit(Growth::kSettles));
  ViewNode& node = AsViewNode(base_node);
  Note note(*this, content.kind, caller, node);
  if (content.modified && content.kind != OpKind()) note.Attach(node, content.bytes);
  Anchor anchor(*this, node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  AGENTFS_TRY(CheckRegular(node));
  if (content.wanted && !content.wanted()) return Error(ECANCELED);
  AGENTFS_TRY(io_.TakeLocked(caller, node, content));
  NotifyNode(ChangeEvent::Kind::kContent, caller, node);
  return Ok();
}

Result<bool> View::GiveContent(Node& base_node, const HostFile& to) {
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  AGENTFS_TRY(CheckRegular(node));
  return io_.GiveLocked(node, to);
}

void View::AddHostWriter(std::weak_ptr<HostWriter> writer) {
  absl::MutexLock lock(&writers_mu_);
  std::erase_if(writers_, [](const auto& each) { return each.expired(); });
  writers_.push_back(std::move(writer));
}

void View::SettleHostWriters() {
  std::vector<std::shared_ptr<HostWriter>> writers;
  {
    absl::MutexLock lock(&writers_mu_);
    for (const auto& writer : writers_) {
      if (auto held = writer.lock()) writers.push_back(std::move(held));
    }
  }
  for (const auto& writer : writers) writer->Settle();
}

Result<void> View::Sync(Node&) {
  // No operation is held: a restore need not wait for the disk.
  if (nodes_.read_only()) return Ok();
  return nodes_.journal().SyncChanges();
}

// What was overwritten in place, or appended to a file that is marked as growing, needs no row: its
// object's sync will do, one flush instead of two.
Result<void> View::SyncData(Node& base_node) {
  ViewNode& node = AsViewNode(base_node);
  Journal& journal = nodes_.journal();
  std::shared_ptr<BlobObject> object;
  {
    Operation operation(*this);
    absl::ReaderMutexLock lock(&node.mu);
    const FileContent* content = node.content();
    if (content != nullptr && node.kind == ContentKind::kObject && content->host_file == 0 &&
        content->object_layer == nodes_.open_layer() && journal.IsSynced(content->needed_batch)) {
      object = content->open_object;
    }
  }
  if (object != nullptr) return object->Sync();
  const uint64_t batch = journal.ChangedBatch();
  AGENTFS_TRY(Sync(node));
  Operation operation(*this);
  absl::MutexLock lock(&node.mu);
  if (!nodes_.read_only()) io_.SyncedLocked(node, batch);
  return Ok();
}

Result<void> View::RecoverGrowth(const GrowthMark& mark) {
  Operation operation(*this);
  const NodeRef ref = nodes_.table().Get(mark.node);
  ViewNode& node = AsViewNode(*ref);
  AGENTFS_ASSIGN(NodeLock lock, NodeLock::Take(nodes_, node, LockMode::kExclusive));
  return io_.RecoverLocked(node, mark);
}

Result<FsStats> View::StatFs() {
  Operation operation(*this);
  VolumeState& volume = nodes_.volume();
  FsStats stats;
  stats.blocks = stats.blocks_free = stats.blocks_available = kUnlimitedBlocks;
  stats.files = stats.files_free = kUnlimitedBlocks;
  if (!volume.options.state_directory.empty()) {
    AGENTFS_ASSIGN(stats, HostFsStats(volume.options.state_directory));
  } else if (volume.base != nullptr) {
    AGENTFS_ASSIGN(stats, volume.base->StatFs());
  }
  const Limits& limits = volume.options.limits;
  if (limits.max_total_bytes != 0) {
    const uint64_t used = static_cast<uint64_t>(std::max<int64_t>(0, volume.stored_bytes.load()));
    stats.blocks = limits.max_total_bytes / stats.block_size;
    const uint64_t free =
        limits.max_total_bytes > used ? (limits.max_total_bytes - used) / stats.block_size : 0;
    stats.blocks_free = std::min(stats.blocks_free, free);
    stats.blocks_available = std::min(stats.blocks_available, free);
  }
  return stats;
}

}  // namespace agentfs
