// SPDX-License-Identifier: Apache-2.0
#include "workspace/restore_paths.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "agentfs/files.h"
#include "agentfs/path.h"
#include "workspace/file_content.h"
#include "workspace/with_parents.h"

namespace agentfs {
namespace {

using Change = PathChange;

// Makes changes in a branch's view. Done in the order that makes each possible: files go, then
// directories come, names move, directories go, files come, attributes are set.
class TreeRestorer {
 public:
  TreeRestorer(FileSystem& branch, FileSystem& from) : branch_(branch), from_(from) {}

  Result<void> Run(const std::vector<Change>& changes);

 private:
  using Step = Result<void> (TreeRestorer::*)(const Change&);
  Result<void> Each(const std::vector<Change>& changes, Step step);
  Result<void> EachBackwards(const std::vector<Change>& changes, Step step);
  Result<void> RemoveFile(const Change& change);
  Result<void> MakeDirectory(const Change& change);
  Result<void> Move(const Change& change);
  Result<void> RemoveDirectory(const Change& change);
  Result<void> WriteFile(const Change& change);
  Result<void> MakeFile(const Change& change, Node& parent, std::string_view name);
  Result<void> CopyContent(const Change& change, Node& target);
  Result<void> SetAttributes(const Change& change);
  Result<NodeRef> DirectoryOf(const std::string& path);

  FileSystem& branch_;
  FileSystem& from_;
  const Caller root_;
  absl::flat_hash_map<NodeId, NodeRef> linked_;  // what has several names, by the other's node
};

bool HasDirectory(const Found& found) { return found.node && S_ISDIR(found.attr.mode); }
bool HasFile(const Found& found) { return found.node && !S_ISDIR(found.attr.mode); }

Result<NodeRef> TreeRestorer::DirectoryOf(const std::string& path) {
  NodeRef at = branch_.Root();
  for (std::string_view name : SplitPath(ParentPath(path))) {
    AGENTFS_ASSIGN(Found found, branch_.Lookup(root_, *at, name));
    at = std::move(found.node);
  }
  return at;
}

Result<void> TreeRestorer::Each(const std::vector<Change>& changes, Step step) {
  for (const Change& change : changes) {
    auto done = (this->*step)(change);
    if (!done.ok()) return done.error().WithContext("restoring " + change.path);
  }
  return Ok();
}

Result<void> TreeRestorer::EachBackwards(const std::vector<Change>& changes, Step step) {
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    auto done = (this->*step)(*it);
    if (!done.ok()) return done.error().WithContext("restoring " + it->path);
  }
  return Ok();
}

Result<void> TreeRestorer::Run(const std::vector<Change>& changes) {
  AGENTFS_TRY(Each(changes, &TreeRestorer::RemoveFile));
  AGENTFS_TRY(Each(changes, &TreeRestorer::MakeDirectory));
  AGENTFS_TRY(Each(changes, &TreeRestorer::Move));
  // Old paths are not in the order of the list.
  std::vector<Change> directories;
  for (const Change& change : changes) {
    if (!HasDirectory(change.before) || (HasDirectory(change.after) && change.old_path.empty())) {
      continue;
    }
    directories.push_back(change);
    if (!change.old_path.empty()) directories.back().path = change.old_path;
  }
  std::sort(directories.begin(), directories.end(),
            [](const Change& a, const Change& b) { return a.path < b.path; });
  AGENTFS_TRY(EachBackwards(directories, &TreeRestorer::RemoveDirectory));
  AGENTFS_TRY(Each(changes, &TreeRestorer::WriteFile));
  return EachBackwards(changes, &TreeRestorer::SetAttributes);
}

Result<void> TreeRestorer::RemoveFile(const Change& change) {
  const bool goes = change.kind == Change::Kind::kRemoved || change.type_changed();
  if (!HasFile(change.before) || !goes) return Ok();
  AGENTFS_ASSIGN(const NodeRef parent, DirectoryOf(change.path));
  return branch_.Unlink(root_, *parent, FileName(change.path));
}

Result<void> TreeRestorer::MakeDirectory(const Change& change) {
  const bool stays = HasDirectory(change.before) && change.old_path.empty();
  if (!HasDirectory(change.after) || stays) return Ok();
  AGENTFS_ASSIGN(const NodeRef parent, DirectoryOf(change.path));
  AGENTFS_TRY(branch_.MakeDirectory(root_, *parent, FileName(change.path), 0700));
  return Ok();
}

Result<void> TreeRestorer::Move(const Change& change) {
  if (change.kind != Change::Kind::kRenamed || !HasFile(change.after)) return Ok();
  AGENTFS_ASSIGN(const NodeRef from, DirectoryOf(change.old_path));
  AGENTFS_ASSIGN(const NodeRef to, DirectoryOf(change.path));
  return branch_.Rename(root_, *from, FileName(change.old_path), *to, FileName(change.path),
                        RenameMode::kNoReplace);
}

Result<void> TreeRestorer::RemoveDirectory(const Change& change) {
  AGENTFS_ASSIGN(const NodeRef parent, DirectoryOf(change.path));
  return branch_.RemoveDirectory(root_, *parent, FileName(change.path));
}

Result<void> TreeRestorer::WriteFile(const Change& change) {
  if (!HasFile(change.after)) return Ok();
  const bool there = HasFile(change.before) && !change.type_changed();
  if (there && !change.content) return Ok();
  AGENTFS_ASSIGN(const NodeRef parent, DirectoryOf(change.path));
  const std::string_view name = FileName(change.path);
  if (there && S_ISREG(change.after.attr.mode)) {
    AGENTFS_ASSIGN(const Found found, branch_.Lookup(root_, *parent, name));
    return CopyContent(change, *found.node);
  }
  if (there) AGENTFS_TRY(branch_.Unlink(root_, *parent, name));
  return MakeFile(change, *parent, name);
}

Result<void> TreeRestorer::MakeFile(const Change& change, Node& parent, std::string_view name) {
  const Attr& attr = change.after.attr;
  if (attr.nlink > 1) {
    if (auto it = linked_.find(attr.node); it != linked_.end()) {
      AGENTFS_TRY(branch_.Link(root_, *it->second, parent, name));
      return Ok();
    }
  }
  Found made;
  if (S_ISREG(attr.mode)) {
    AGENTFS_ASSIGN(made, branch_.Create(root_, parent, name, 0600));
    AGENTFS_TRY(CopyContent(change, *made.node));
  } else if (S_ISLNK(attr.mode)) {
    AGENTFS_ASSIGN(const std::string target, from_.ReadLink(root_, *change.after.node));
    AGENTFS_ASSIGN(made, branch_.MakeSymlink(root_, parent, name, target));
  } else {
    AGENTFS_ASSIGN(made, branch_.MakeNode(root_, parent, name, attr.mode, attr.rdev));
  }
  if (attr.nlink > 1) linked_[attr.node] = made.node;
  return Ok();
}

Result<void> TreeRestorer::CopyContent(const Change& change, Node& target) {
  AttrChange empty, whole;
  empty.size = 0;
  whole.size = change.after.attr.size;
  AGENTFS_TRY(branch_.SetAttr(root_, target, empty));
  AGENTFS_TRY(ReadData(from_, *change.after.node, change.after.attr.size,
                       [&](uint64_t at, std::string_view data) -> Result<void> {
                         AGENTFS_TRY(branch_.Write(root_, target, at, data));
                         return Ok();
                       }));
  AGENTFS_TRY(branch_.SetAttr(root_, target, whole));
  return Ok();
}

Result<void> TreeRestorer::SetAttributes(const Change& change) {
  if (!change.after.node) return Ok();
  AGENTFS_ASSIGN(const NodeRef parent, DirectoryOf(change.path));
  AGENTFS_ASSIGN(const Found found, branch_.Lookup(root_, *parent, FileName(change.path)));
  const Attr& attr = change.after.attr;
  AttrChange wanted;
  wanted.uid = attr.uid;
  wanted.gid = attr.gid;
  AGENTFS_TRY(branch_.SetAttr(root_, *found.node, wanted));
  AttrChange rest;  // a change of the owner takes set-id bits away
  if (!S_ISLNK(attr.mode)) rest.mode = attr.mode & 07777;
  rest.atime = attr.atime;
  rest.mtime = attr.mtime;
  AGENTFS_ASSIGN(const auto wanted_xattrs, ReadXattrs(from_, *change.after.node));
  AGENTFS_ASSIGN(const auto present, ReadXattrs(branch_, *found.node));
  for (const auto& [name, value] : present) {
    if (!wanted_xattrs.contains(name)) {
      AGENTFS_TRY(branch_.RemoveXattr(root_, *found.node, name));
    }
  }
  for (const auto& [name, value] : wanted_xattrs) {
    AGENTFS_TRY(branch_.SetXattr(root_, *found.node, name, value, XattrMode::kSet));
  }
  AGENTFS_TRY(branch_.SetAttr(root_, *found.node, rest));
  return Ok();
}

}  // namespace

Result<std::vector<PathChange>> PlanRestore(Volume& volume, const std::string& branch,
                                            const std::string& ref,
                                            const std::vector<std::string>& paths) {
  AGENTFS_ASSIGN(const auto all, FindChanges(volume, branch, ref, ChangeScope::kAll));
  return WithParents(all, SelectPaths(all, paths));
}

Result<void> RestorePaths(Volume& volume, const std::string& branch, const std::string& ref,
                          const std::vector<std::string>& paths, const NamesForgetter& forget) {
  AGENTFS_ASSIGN(const Views views, OpenViews(volume, branch, ref));
  std::vector<std::string> given_back;
  {
    AGENTFS_ASSIGN(const auto changes, PlanRestore(volume, branch, ref, paths));
    for (const PathChange& change : changes) {
      // A directory that only had to be there for what is in it has nothing else in it.
      if (!paths.empty() && !IsAtOrBelow(change.path, paths)) continue;
      given_back.push_back(change.path);
      if (!change.old_path.empty()) given_back.push_back(change.old_path);
    }
    AGENTFS_TRY(TreeRestorer(*views.before, *views.after).Run(changes));
  }
  if (ref != "base") return Ok();
  std::sort(given_back.begin(), given_back.end());
  return FollowPaths(volume, branch, given_back, FollowMode::kUnlessUsed, forget);
}

Result<void> MakeChanges(FileSystem& target, FileSystem& source,
                         const std::vector<PathChange>& changes) {
  return TreeRestorer(target, source).Run(changes);
}

}  // namespace agentfs
