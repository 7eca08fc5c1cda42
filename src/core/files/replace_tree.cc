// SPDX-License-Identifier: Apache-2.0
#include "core/files/replace_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/files/tree_walker.h"

namespace agentfs {

TreeReplacement::TreeReplacement(FileSystem& fs, const Caller& caller, Place place)
    : fs_(fs), caller_(caller), place_(std::move(place)) {}

TreeReplacement::TreeReplacement(TreeReplacement&& other) noexcept
    : fs_(other.fs_),
      caller_(other.caller_),
      place_(std::move(other.place_)),
      built_(std::move(other.built_)),
      container_before_(other.container_before_),
      pending_(std::exchange(other.pending_, false)) {}

TreeReplacement::~TreeReplacement() {
  if (!pending_) return;
  DiscardTree(fs_, caller_, container(), built_.name);
  AttrChange times;
  times.atime = container_before_.atime;
  times.mtime = container_before_.mtime;
  (void)fs_.SetAttr(caller_, container(), times);
}

Result<TreeReplacement> TreeReplacement::Begin(FileSystem& fs, const Caller& caller,
                                               std::string_view path) {
  AGENTFS_ASSIGN(Place place, Resolver(fs, caller).FindPlace(path, FollowLinks::kYes));
  if (place.exists() && !S_ISDIR(place.found.attr.mode)) return Error(ENOTDIR);
  TreeReplacement replacement(fs, caller, std::move(place));
  AGENTFS_ASSIGN(replacement.container_before_, fs.GetAttr(replacement.container()));
  // One of the root may hold children of the old tree when a crash leaves it; the next one takes
  // the place of everything there. Others hold nothing but what was being loaded.
  const std::string_view prefix = replacement.by_children() ? ".agentfs-root-" : ".agentfs-load-";
  if (!replacement.by_children()) DiscardAbandoned(fs, caller, replacement.container(), prefix);
  AGENTFS_ASSIGN(replacement.built_,
                 MakeTemporaryDirectory(fs, caller, replacement.container(), prefix));
  replacement.pending_ = true;
  return replacement;
}

Result<void> TreeReplacement::Commit(const std::optional<NodeMetadata>& metadata) {
  AGENTFS_TRY(CheckRemovable());
  return by_children() ? CommitByChildren(metadata) : CommitByName(metadata);
}

// Once the new tree is in place, the old one must go: find out before whether it can. (Root can
// remove anything.)
Result<void> TreeReplacement::CheckRemovable() {
  if (caller_.uid == 0 || !place_.exists()) return Ok();
  TreeWalker walker(fs_, caller_, place_.found);
  for (;;) {
    AGENTFS_ASSIGN(TreeWalker::Event event, walker.Next());
    if (event == TreeWalker::Event::kEnd) return Ok();
    if (event == TreeWalker::Event::kLeave || !S_ISDIR(walker.found().attr.mode)) continue;
    Result<void> access = fs_.Access(caller_, *walker.found().node, W_OK | X_OK);
    if (!access.ok()) return AtPath(access.error(), "cannot replace", walker.path());
  }
}

Result<NodeMetadata> TreeReplacement::OldMetadata() {
  AGENTFS_ASSIGN(Attr attr, fs_.GetAttr(*place_.found.node));
  NodeMetadata metadata;
  metadata.mode = attr.mode;
  metadata.uid = attr.uid;
  metadata.gid = attr.gid;
  metadata.atime = by_children() ? container_before_.atime : attr.atime;
  metadata.mtime = by_children() ? container_before_.mtime : attr.mtime;
  AGENTFS_ASSIGN(metadata.xattrs, ReadXattrs(fs_, caller_, *place_.found.node));
  return metadata;
}

Result<void> TreeReplacement::RemoveOld() {
  pending_ = false;
  Result<void> removed = DeleteTree(fs_, caller_, container(), built_.name, {});
  if (removed.ok()) return removed;
  return removed.error().WithContext(
      "the tree has been replaced, but the old one could not be removed from '" + built_.name +
      "' beside or in it");
}

Result<void> TreeReplacement::CommitByName(const std::optional<NodeMetadata>& metadata) {
  NodeMetadata wanted;
  wanted.mode = S_IFDIR | (0777 & ~caller_.umask);
  wanted.uid = built_.found.attr.uid;
  wanted.gid = built_.found.attr.gid;
  if (metadata) {
    wanted = *metadata;
  } else if (place_.exists()) {
    AGENTFS_ASSIGN(wanted, OldMetadata());
  }
  AGENTFS_TRY(ApplyMetadata(fs_, caller_, root(), wanted));
  RenameMode mode = place_.exists() ? RenameMode::kExchange : RenameMode::kNoReplace;
  AGENTFS_TRY(fs_.Rename(caller_, container(), built_.name, container(), place_.name, mode));
  pending_ = false;
  return place_.exists() ? RemoveOld() : Ok();
}

Result<void> TreeReplacement::CommitByChildren(const std::optional<NodeMetadata>& metadata) {
  AGENTFS_ASSIGN(NodeMetadata old_metadata, OldMetadata());
  AGENTFS_ASSIGN(std::vector<Swap> swaps, PlanSwaps());
  for (size_t i = 0; i < swaps.size(); ++i) {
    Result<void> done = DoSwap(swaps[i]);
    if (done.ok()) continue;
    UndoSwaps(std::span(swaps).first(i));
    return AtPath(done.error(), "cannot put in place", swaps[i].name);
  }
  // Removing the temporary directory later touches the times: set them again after it.
  Result<void> set = SetOwnMetadata(metadata.value_or(old_metadata));
  if (!set.ok()) {
    (void)SetOwnMetadata(old_metadata);
    UndoSwaps(swaps);
    return set;
  }
  AGENTFS_TRY(RemoveOld());
  AttrChange times;
  times.atime = metadata.value_or(old_metadata).atime;
  times.mtime = metadata.value_or(old_metadata).mtime;
  AGENTFS_TRY(fs_.SetAttr(caller_, container(), times));
  return Ok();
}

Result<std::vector<TreeReplacement::Swap>> TreeReplacement::PlanSwaps() {
  AGENTFS_ASSIGN(std::vector<std::string> old_names, SortedNames(fs_, caller_, container()));
  AGENTFS_ASSIGN(std::vector<std::string> new_names, SortedNames(fs_, caller_, root()));
  std::vector<Swap> swaps;
  for (const std::string& name : new_names) {
    bool both = std::binary_search(old_names.begin(), old_names.end(), name);
    swaps.push_back({name, both ? Swap::Kind::kExchange : Swap::Kind::kIn});
  }
  for (const std::string& name : old_names) {
    if (name == built_.name || std::binary_search(new_names.begin(), new_names.end(), name)) {
      continue;
    }
    swaps.push_back({name, Swap::Kind::kOut});
  }
  return swaps;
}

Result<void> TreeReplacement::DoSwap(const Swap& swap) {
  Node& outside = container();
  switch (swap.kind) {
    case Swap::Kind::kExchange:
      return fs_.Rename(caller_, root(), swap.name, outside, swap.name, RenameMode::kExchange);
    case Swap::Kind::kIn:
      return fs_.Rename(caller_, root(), swap.name, outside, swap.name, RenameMode::kNoReplace);
    case Swap::Kind::kOut:
      return fs_.Rename(caller_, outside, swap.name, root(), swap.name, RenameMode::kNoReplace);
  }
  return Error(EINVAL);
}

void TreeReplacement::UndoSwaps(std::span<const Swap> done) {
  for (auto swap = done.rbegin(); swap != done.rend(); ++swap) {
    Swap back = *swap;
    if (back.kind == Swap::Kind::kIn) {
      back.kind = Swap::Kind::kOut;
    } else if (back.kind == Swap::Kind::kOut) {
      back.kind = Swap::Kind::kIn;
    }
    (void)DoSwap(back);
  }
}

// Makes the directory's own attributes exactly `metadata`: xattrs that are not in it go.
Result<void> TreeReplacement::SetOwnMetadata(const NodeMetadata& metadata) {
  AGENTFS_ASSIGN(Xattrs present, ReadXattrs(fs_, caller_, container()));
  for (const auto& xattr : present) {
    bool stays = std::any_of(metadata.xattrs.begin(), metadata.xattrs.end(),
                             [&](const auto& wanted) { return wanted.first == xattr.first; });
    if (!stays) AGENTFS_TRY(fs_.RemoveXattr(caller_, container(), xattr.first));
  }
  return ApplyMetadata(fs_, caller_, container(), metadata);
}

}  // namespace agentfs
