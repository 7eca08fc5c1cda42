// SPDX-License-Identifier: Apache-2.0
//
// Files::Copy: a file or a tree within one filesystem.
#include <absl/container/flat_hash_map.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>
#include <vector>

#include "agentfs/directory_trail.h"
#include "agentfs/files.h"
#include "core/files/delete_tree.h"
#include "core/files/extents.h"
#include "core/files/node_metadata.h"
#include "core/files/resolver.h"
#include "core/files/tree_walker.h"

namespace agentfs {
namespace {

// Between two looks at the stop token.
constexpr uint64_t kCopyStep = uint64_t{256} << 20;

// Copies one tree to a name that is free.
class TreeCopier {
 public:
  TreeCopier(FileSystem& fs, const Caller& caller, std::stop_token stop)
      : fs_(fs), caller_(caller), stop_(std::move(stop)) {}

  Result<void> Copy(Found source, Node& parent, std::string_view name);

 private:
  Result<void> CopyNode(const Found& source, Node& parent, std::string_view name);
  Result<Found> MakeLike(const Found& source, Node& parent, std::string_view name);
  Result<void> Fill(const Found& source, Node& target);
  Result<void> CopyContent(const Found& source, Node& target);
  Result<void> CopyExtent(Node& source, Node& target, Extent extent);
  Result<void> CopyMetadata(const Found& source, Node& target);

  FileSystem& fs_;
  const Caller& caller_;
  const std::stop_token stop_;
  std::vector<NodeRef> directories_;                 // the copies of those that are being walked
  absl::flat_hash_map<NodeId, NodeRef> hard_links_;  // the copies of files with several names
};

Result<void> TreeCopier::Copy(Found source, Node& parent, std::string_view name) {
  TreeWalker walker(fs_, caller_, std::move(source));
  for (;;) {
    if (stop_.stop_requested()) return Error(ECANCELED);
    AGENTFS_ASSIGN(TreeWalker::Event event, walker.Next());
    if (event == TreeWalker::Event::kEnd) return Ok();
    Result<void> done;
    if (event == TreeWalker::Event::kLeave) {
      done = CopyMetadata(walker.found(), *directories_.back());
      directories_.pop_back();
    } else if (walker.parent() == nullptr) {
      done = CopyNode(walker.found(), parent, name);
      if (!done.ok()) return done;
    } else {
      NodeRef directory = directories_.back();
      done = CopyNode(walker.found(), *directory, walker.name());
    }
    if (!done.ok() && done.code() == ECANCELED) return done;
    if (!done.ok()) return AtPath(done.error(), "cannot copy", walker.path());
  }
}

Result<void> TreeCopier::CopyNode(const Found& source, Node& parent, std::string_view name) {
  const bool many_names = source.attr.nlink > 1 && !S_ISDIR(source.attr.mode);
  if (many_names) {
    if (auto known = hard_links_.find(source.node->id()); known != hard_links_.end()) {
      AGENTFS_TRY(fs_.Link(caller_, *known->second, parent, name));
      return Ok();
    }
  }
  AGENTFS_ASSIGN(Found made, MakeLike(source, parent, name));
  if (S_ISDIR(source.attr.mode)) {
    directories_.push_back(std::move(made.node));
    return Ok();  // its metadata follow when it is full
  }
  Result<void> filled = Fill(source, *made.node);
  if (!filled.ok()) {
    (void)fs_.Unlink(caller_, parent, name);
    return filled;
  }
  if (many_names) hard_links_.emplace(source.node->id(), std::move(made.node));
  return Ok();
}

Result<Found> TreeCopier::MakeLike(const Found& source, Node& parent, std::string_view name) {
  uint32_t type = source.attr.mode & S_IFMT;
  switch (type) {
    case S_IFREG:
      return fs_.Create(caller_, parent, name, 0600);
    case S_IFDIR:
      return fs_.MakeDirectory(caller_, parent, name, 0700);
    case S_IFLNK: {
      AGENTFS_ASSIGN(std::string target, fs_.ReadLink(caller_, *source.node));
      return fs_.MakeSymlink(caller_, parent, name, target);
    }
    default:
      return fs_.MakeNode(caller_, parent, name, type | 0600, source.attr.rdev);
  }
}

Result<void> TreeCopier::Fill(const Found& source, Node& target) {
  if (S_ISREG(source.attr.mode)) AGENTFS_TRY(CopyContent(source, target));
  return CopyMetadata(source, target);
}

Result<void> TreeCopier::CopyContent(const Found& source, Node& target) {
  AGENTFS_TRY(fs_.Open(caller_, *source.node, O_RDONLY));
  uint64_t end = 0;
  AGENTFS_TRY(ForEachExtent(fs_, *source.node, source.attr.size, [&](Extent extent) {
    end = extent.offset + extent.length;
    return CopyExtent(*source.node, target, extent);
  }));
  if (end >= source.attr.size) return Ok();
  AttrChange hole_at_the_end;
  hole_at_the_end.size = source.attr.size;
  AGENTFS_TRY(fs_.SetAttr(caller_, target, hole_at_the_end));
  return Ok();
}

Result<void> TreeCopier::CopyExtent(Node& source, Node& target, Extent extent) {
  while (extent.length > 0) {
    if (stop_.stop_requested()) return Error(ECANCELED);
    uint64_t step = std::min(extent.length, kCopyStep);
    AGENTFS_ASSIGN(uint64_t copied,
                   fs_.CopyRange(caller_, source, extent.offset, target, extent.offset, step));
    if (copied == 0) return Ok();  // it has become shorter
    extent.offset += copied;
    extent.length -= copied;
  }
  return Ok();
}

Result<void> TreeCopier::CopyMetadata(const Found& source, Node& target) {
  NodeMetadata metadata;
  metadata.mode = source.attr.mode;
  metadata.uid = source.attr.uid;
  metadata.gid = source.attr.gid;
  metadata.atime = source.attr.atime;
  metadata.mtime = source.attr.mtime;
  AGENTFS_ASSIGN(metadata.xattrs, ReadXattrs(fs_, caller_, *source.node));
  return ApplyMetadata(fs_, caller_, target, metadata);
}

// Whether `directory` is `node` or lies below it.
Result<bool> LiesWithin(FileSystem& fs, const Caller& caller, NodeRef directory, const Node& node) {
  const NodeId root = fs.Root()->id();
  DirectoryTrail trail;
  for (;;) {
    if (directory->id() == node.id()) return true;
    if (directory->id() == root) return false;
    AGENTFS_TRY(trail.Enter(directory->id(), ".."));
    AGENTFS_ASSIGN(Found up, fs.Lookup(caller, *directory, ".."));
    directory = std::move(up.node);
  }
}

// Refuses what cannot be copied where it should go.
Result<void> CheckCopy(FileSystem& fs, const Caller& caller, const Place& from, const Place& to,
                       Overwrite overwrite) {
  const bool directory = S_ISDIR(from.found.attr.mode);
  if (directory && to.parent) {
    AGENTFS_ASSIGN(bool within, LiesWithin(fs, caller, to.parent, *from.found.node));
    if (within) return Error(EINVAL, "cannot copy a directory into itself");
  }
  if (!to.exists()) return Ok();
  if (overwrite == Overwrite::kNo) return Error(EEXIST);
  if (!to.parent) return Error(EBUSY, "cannot replace the root");
  if (to.found.node->id() == from.found.node->id()) {
    return Error(EINVAL, "source and target are the same file");
  }
  const bool replaces_directory = S_ISDIR(to.found.attr.mode);
  if (replaces_directory && !directory) return Error(EISDIR);
  if (!replaces_directory && directory) return Error(ENOTDIR);
  if (!replaces_directory || !from.parent) return Ok();
  AGENTFS_ASSIGN(bool within, LiesWithin(fs, caller, from.parent, *to.found.node));
  if (within) return Error(EINVAL, "cannot replace a directory by what is in it");
  return Ok();
}

// Puts `name` of the target's directory in the target's place, and removes what was there.
Result<void> Replace(FileSystem& fs, const Caller& caller, const std::string& name,
                     const Place& target, const std::stop_token& stop) {
  Node& parent = *target.parent;
  if (!S_ISDIR(target.found.attr.mode)) {
    return fs.Rename(caller, parent, name, parent, target.name, RenameMode::kReplace);
  }
  AGENTFS_TRY(fs.Rename(caller, parent, name, parent, target.name, RenameMode::kExchange));
  return DeleteTree(fs, caller, parent, name, stop);
}

}  // namespace

Result<void> Files::Copy(std::string_view from, std::string_view to, Recursion recursion,
                         Overwrite overwrite, std::stop_token stop) const {
  if (stop.stop_requested()) return Error(ECANCELED);
  Resolver resolver(*fs_, caller_);
  AGENTFS_ASSIGN(Place source, resolver.FindPlace(from, FollowLinks::kNo));
  AGENTFS_ASSIGN(Place target, resolver.FindPlace(to, FollowLinks::kNo));
  if (!source.exists()) return Error(ENOENT);
  if (S_ISDIR(source.found.attr.mode) && recursion == Recursion::kNo) return Error(EISDIR);
  AGENTFS_TRY(CheckCopy(*fs_, caller_, source, target, overwrite));

  TreeCopier copier(*fs_, caller_, stop);
  if (!target.exists()) return copier.Copy(source.found, *target.parent, target.name);
  std::string temporary = TemporaryName(".agentfs-copy-");
  Result<void> done = copier.Copy(source.found, *target.parent, temporary);
  if (done.ok()) done = Replace(*fs_, caller_, temporary, target, stop);
  if (!done.ok()) DiscardTree(*fs_, caller_, *target.parent, temporary);
  return done;
}

}  // namespace agentfs
