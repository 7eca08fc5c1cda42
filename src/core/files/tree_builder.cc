// SPDX-License-Identifier: Apache-2.0
#include "core/files/tree_builder.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <utility>

#include "agentfs/path.h"
#include "core/files/archive_names.h"

namespace agentfs {
namespace {

// Cuts the next name off the front of `rest`, leaving out "." and empty ones; empty at the end.
std::string_view CutName(std::string_view& rest) {
  for (;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(name.size());
    if (name != ".") return name;
  }
}

Result<void> CheckPath(std::string_view path) {
  if (path.empty()) return Error(EINVAL, "an empty name");
  if (path[0] == '/') return Error(EINVAL, "an absolute name");
  for (;;) {
    std::string_view name = CutName(path);
    if (name.empty()) return Ok();
    if (name == "..") return Error(EINVAL, "a name with '..'");
    if (name.size() > kMaxName) return Error(ENAMETOOLONG);
  }
}

// Without the slashes and "." names at its end, so that what follows the last slash is the name.
std::string_view TrimEnd(std::string_view path) {
  for (;;) {
    if (path.ends_with('/')) {
      path.remove_suffix(1);
    } else if (path == "." || path.ends_with("/.")) {
      path.remove_suffix(1);
    } else {
      return path;
    }
  }
}

bool IsMarkedSocket(const Xattrs& xattrs) {
  return std::any_of(xattrs.begin(), xattrs.end(),
                     [](const auto& xattr) { return xattr.first == kSocketMark; });
}

}  // namespace

TreeBuilder::TreeBuilder(FileSystem& fs, const Caller& caller, Node& root, uint64_t max_entries)
    : fs_(fs), caller_(caller), root_(root), max_entries_(max_entries) {}

Result<void> TreeBuilder::CountEntry() {
  if (++entries_ > max_entries_) return Error(EOVERFLOW, "more entries than allowed");
  return Ok();
}

NodeMetadata TreeBuilder::ImpliedDirectory() const {
  NodeMetadata metadata;
  metadata.mode = S_IFDIR | (0777 & ~caller_.umask);
  metadata.uid = caller_.uid;
  metadata.gid = caller_.gid;
  return metadata;
}

Result<NodeRef> TreeBuilder::Descend(Node& parent, std::string_view name) {
  Result<Found> found = fs_.Lookup(caller_, parent, name);
  if (found.code() == ENOENT) {
    AGENTFS_TRY(CountEntry());
    AGENTFS_ASSIGN(Found made, fs_.MakeDirectory(caller_, parent, name, 0700));
    directories_[made.node->id()] = {made.node, ImpliedDirectory()};
    return std::move(made.node);
  }
  if (!found.ok()) return std::move(found).error();
  if (S_ISDIR(found->attr.mode)) return std::move(found->node);
  return Error(EINVAL, S_ISLNK(found->attr.mode) ? "a name through a symbolic link"
                                                 : "a name through something that is no directory");
}

Result<NodeRef> TreeBuilder::FindParent(std::string_view path) {
  if (last_parent_ && path == last_parent_path_) return last_parent_;
  NodeRef directory(&root_);
  std::string_view rest = path;
  for (;;) {
    std::string_view name = CutName(rest);
    if (name.empty()) break;
    AGENTFS_ASSIGN(directory, Descend(*directory, name));
  }
  last_parent_path_ = path;
  last_parent_ = directory;
  return directory;
}

Result<TreeBuilder::Slot> TreeBuilder::FindSlot(std::string_view name) {
  AGENTFS_TRY(CheckPath(name));
  name = TrimEnd(name);
  size_t slash = name.rfind('/');
  std::string_view parent = slash == std::string_view::npos ? "" : name.substr(0, slash);
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  AGENTFS_ASSIGN(NodeRef directory, FindParent(parent));
  return Slot{std::move(directory), name};
}

Result<TreeBuilder::Slot> TreeBuilder::FreeSlot(std::string_view name) {
  AGENTFS_TRY(CountEntry());
  AGENTFS_ASSIGN(Slot slot, FindSlot(name));
  if (slot.name.empty()) return Error(EINVAL, "the root is no directory");
  Result<Found> found = fs_.Lookup(caller_, *slot.parent, slot.name);
  if (found.code() == ENOENT) return slot;
  if (!found.ok()) return std::move(found).error();
  if (S_ISDIR(found->attr.mode)) return Error(EEXIST, "it has been a directory before");
  AGENTFS_TRY(fs_.Unlink(caller_, *slot.parent, slot.name));
  return slot;
}

Result<Found> TreeBuilder::FindAdded(std::string_view name) {
  AGENTFS_TRY(CheckPath(name));
  Found at{NodeRef(&root_), {}};
  AGENTFS_ASSIGN(at.attr, fs_.GetAttr(root_));
  for (;;) {
    std::string_view next = CutName(name);
    if (next.empty()) return at;
    if (!S_ISDIR(at.attr.mode)) return Error(EINVAL, "a link to a name through no directory");
    AGENTFS_ASSIGN(at, fs_.Lookup(caller_, *at.node, next));
  }
}

Result<void> TreeBuilder::AddDirectory(std::string_view name, NodeMetadata metadata) {
  AGENTFS_TRY(CountEntry());
  AGENTFS_ASSIGN(Slot slot, FindSlot(name));
  if (slot.name.empty()) {
    root_metadata_ = std::move(metadata);
    return Ok();
  }
  Result<Found> made = fs_.MakeDirectory(caller_, *slot.parent, slot.name, 0700);
  if (made.code() == EEXIST) {
    made = fs_.Lookup(caller_, *slot.parent, slot.name);
    if (made.ok() && !S_ISDIR(made->attr.mode)) {
      return Error(EEXIST, "it has been something else before");
    }
  }
  if (!made.ok()) return std::move(made).error();
  directories_[made->node->id()] = {made->node, std::move(metadata)};
  return Ok();
}

Result<void> TreeBuilder::AddSymlink(std::string_view name, std::string_view target,
                                     const NodeMetadata& metadata) {
  AGENTFS_ASSIGN(Slot slot, FreeSlot(name));
  AGENTFS_ASSIGN(Found made, fs_.MakeSymlink(caller_, *slot.parent, slot.name, target));
  return ApplyMetadata(fs_, caller_, *made.node, metadata);
}

Result<void> TreeBuilder::AddHardLink(std::string_view name, std::string_view existing) {
  Result<Found> target = FindAdded(existing);
  if (target.code() == ENOENT) return Error(EINVAL, "a hard link to what is not in the archive");
  if (!target.ok()) return std::move(target).error();
  if (S_ISDIR(target->attr.mode)) return Error(EINVAL, "a hard link to a directory");
  Result<Found> before = FindAdded(name);
  if (before.ok() && before->node->id() == target->node->id()) return CountEntry();
  AGENTFS_ASSIGN(Slot slot, FreeSlot(name));
  AGENTFS_TRY(fs_.Link(caller_, *target->node, *slot.parent, slot.name));
  return Ok();
}

Result<void> TreeBuilder::AddSpecial(std::string_view name, const NodeMetadata& metadata,
                                     uint64_t major, uint64_t minor) {
  if (major > UINT32_MAX || minor > UINT32_MAX) return Error(EINVAL, "a device out of range");
  const bool fifo = S_ISFIFO(metadata.mode);
  uint64_t rdev = fifo ? 0 : makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  if (!fifo && caller_.uid != 0) return Error(EPERM, "only root may make a device");
  AGENTFS_ASSIGN(Slot slot, FreeSlot(name));
  AGENTFS_ASSIGN(Found made, fs_.MakeNode(caller_, *slot.parent, slot.name,
                                          (metadata.mode & S_IFMT) | 0600, rdev));
  return ApplyMetadata(fs_, caller_, *made.node, metadata);
}

Result<void> TreeBuilder::MakeMarkedSocket(std::string_view name, NodeMetadata metadata) {
  std::erase_if(metadata.xattrs, [](const auto& xattr) { return xattr.first == kSocketMark; });
  metadata.mode = S_IFSOCK | (metadata.mode & 07777);
  AGENTFS_ASSIGN(Slot slot, FreeSlot(name));
  AGENTFS_ASSIGN(Found made, fs_.MakeNode(caller_, *slot.parent, slot.name, S_IFSOCK | 0600, 0));
  AGENTFS_TRY(ApplyMetadata(fs_, caller_, *made.node, metadata));
  open_.reset();
  return Ok();
}

Result<void> TreeBuilder::BeginFile(std::string_view name, NodeMetadata metadata, int64_t size) {
  if (size < 0) return Error(EBADMSG, "a negative size");
  if (size == 0 && IsMarkedSocket(metadata.xattrs)) {
    return MakeMarkedSocket(name, std::move(metadata));
  }
  AGENTFS_ASSIGN(Slot slot, FreeSlot(name));
  AGENTFS_ASSIGN(Found made, fs_.Create(caller_, *slot.parent, slot.name, 0600));
  open_ = OpenFile{std::move(made), std::move(metadata), static_cast<uint64_t>(size), 0};
  return Ok();
}

Result<void> TreeBuilder::WriteFile(int64_t offset, std::span<const char> bytes) {
  if (bytes.empty()) return Ok();
  if (!open_ || offset < 0 || static_cast<uint64_t>(offset) > open_->size ||
      bytes.size() > open_->size - static_cast<uint64_t>(offset)) {
    return Error(EBADMSG, "more content than the entry's size");
  }
  uint64_t at = static_cast<uint64_t>(offset);
  while (!bytes.empty()) {
    AGENTFS_ASSIGN(size_t written, fs_.Write(caller_, *open_->file.node, at, bytes));
    if (written == 0) return Error(EIO);
    at += written;
    bytes = bytes.subspan(written);
  }
  open_->end = std::max(open_->end, at);
  return Ok();
}

Result<void> TreeBuilder::EndFile() {
  if (!open_) return Ok();  // a socket
  OpenFile file = std::move(*open_);
  open_.reset();
  if (file.end < file.size) {
    AttrChange hole_at_the_end;
    hole_at_the_end.size = file.size;
    AGENTFS_TRY(fs_.SetAttr(caller_, *file.file.node, hole_at_the_end));
  }
  return ApplyMetadata(fs_, caller_, *file.file.node, file.metadata);
}

Result<void> TreeBuilder::Finish() {
  for (auto& [id, directory] : directories_) {
    AGENTFS_TRY(ApplyMetadata(fs_, caller_, *directory.node, directory.metadata));
  }
  directories_.clear();
  return Ok();
}

}  // namespace agentfs
