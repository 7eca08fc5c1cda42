// SPDX-License-Identifier: Apache-2.0
//
// Files: making, deleting, moving, walking.
#include <sys/stat.h>

#include <utility>

#include "agentfs/files.h"
#include "agentfs/path.h"
#include "core/files/delete_tree.h"
#include "core/files/resolver.h"
#include "core/files/tree_walker.h"

namespace agentfs {
namespace {

// The deepest directory of a normal path that exists; `*missing` is what remains, without slash.
Result<Found> DeepestExisting(const Resolver& resolver, std::string_view normal,
                              std::string_view* missing) {
  std::string_view existing = normal;
  for (;;) {
    Result<Found> found = resolver.Find(existing, FollowLinks::kYes);
    if (found.ok() || found.code() != ENOENT || existing.size() == 1) {
      missing->remove_prefix(std::min(existing.size(), missing->size()));
      if (missing->starts_with('/')) missing->remove_prefix(1);
      return found;
    }
    existing = ParentPath(existing);
  }
}

// Makes a directory, or takes the one that is there.
Result<Found> EnsureDirectory(FileSystem& fs, const Caller& caller, Node& parent,
                              std::string_view name, uint32_t mode) {
  Result<Found> made = fs.MakeDirectory(caller, parent, name, mode);
  if (made.code() != EEXIST) return made;
  AGENTFS_ASSIGN(Found found, fs.Lookup(caller, parent, name));
  if (!S_ISDIR(found.attr.mode)) return Error(EEXIST);
  return found;
}

}  // namespace

Result<void> Files::CreateDirectory(std::string_view path, uint32_t mode) const {
  AGENTFS_ASSIGN(Place place, Resolver(*fs_, caller_).FindFree(path));
  AGENTFS_TRY(fs_->MakeDirectory(caller_, *place.parent, place.name, mode));
  return Ok();
}

Result<void> Files::CreateDirectories(std::string_view path, uint32_t mode) const {
  AGENTFS_ASSIGN(std::string normal, NormalizePath(path));
  std::string_view missing = normal;
  AGENTFS_ASSIGN(Found at, DeepestExisting(Resolver(*fs_, caller_), normal, &missing));
  if (!S_ISDIR(at.attr.mode)) return Error(missing.empty() ? EEXIST : ENOTDIR);
  while (!missing.empty()) {
    size_t end = std::min(missing.find('/'), missing.size());
    bool last = end == missing.size();
    // A parent must be open to what follows.
    uint32_t own_mode = last ? mode : mode | S_IWUSR | S_IXUSR;
    AGENTFS_ASSIGN(at, EnsureDirectory(*fs_, caller_, *at.node, missing.substr(0, end), own_mode));
    missing.remove_prefix(last ? end : end + 1);
  }
  return Ok();
}

Result<void> Files::CreateSymlink(std::string_view path, std::string_view target) const {
  AGENTFS_ASSIGN(Place place, Resolver(*fs_, caller_).FindFree(path));
  AGENTFS_TRY(fs_->MakeSymlink(caller_, *place.parent, place.name, target));
  return Ok();
}

Result<void> Files::CreateHardLink(std::string_view existing, std::string_view path) const {
  Resolver resolver(*fs_, caller_);
  AGENTFS_ASSIGN(Found found, resolver.Find(existing, FollowLinks::kNo));
  AGENTFS_ASSIGN(Place place, resolver.FindFree(path));
  AGENTFS_TRY(fs_->Link(caller_, *found.node, *place.parent, place.name));
  return Ok();
}

Result<void> Files::Delete(std::string_view path, Recursion recursion, std::stop_token stop) const {
  if (stop.stop_requested()) return Error(ECANCELED);
  AGENTFS_ASSIGN(Place place, Resolver(*fs_, caller_).FindPlace(path, FollowLinks::kNo));
  if (!place.exists()) return Error(ENOENT);
  if (!place.parent) return Error(EBUSY, "cannot delete the root", "delete what is in it");
  if (!S_ISDIR(place.found.attr.mode)) return fs_->Unlink(caller_, *place.parent, place.name);
  if (recursion == Recursion::kNo) {
    return fs_->RemoveDirectory(caller_, *place.parent, place.name);
  }
  return DeleteTree(*fs_, caller_, *place.parent, place.name, stop);
}

Result<void> Files::Move(std::string_view from, std::string_view to, Overwrite overwrite) const {
  Resolver resolver(*fs_, caller_);
  AGENTFS_ASSIGN(Place source, resolver.FindPlace(from, FollowLinks::kNo));
  AGENTFS_ASSIGN(Place target, resolver.FindPlace(to, FollowLinks::kNo));
  if (!source.exists()) return Error(ENOENT);
  if (!source.parent || !target.parent) return Error(EBUSY, "cannot move the root");
  RenameMode mode = overwrite == Overwrite::kYes ? RenameMode::kReplace : RenameMode::kNoReplace;
  return fs_->Rename(caller_, *source.parent, source.name, *target.parent, target.name, mode);
}

Result<void> Files::SetMode(std::string_view path, uint32_t mode) const {
  AGENTFS_ASSIGN(Found found, Resolve(path));
  AttrChange change;
  change.mode = mode & 07777;
  AGENTFS_TRY(fs_->SetAttr(caller_, *found.node, change));
  return Ok();
}

Result<void> Files::SetTimes(std::string_view path, Timestamp atime, Timestamp mtime) const {
  AGENTFS_ASSIGN(Found found, Resolve(path));
  AttrChange change;
  change.atime = atime;
  change.mtime = mtime;
  AGENTFS_TRY(fs_->SetAttr(caller_, *found.node, change));
  return Ok();
}

Result<void> Files::Walk(std::string_view path, const std::function<Visit(const FileEntry&)>& visit,
                         std::stop_token stop) const {
  AGENTFS_ASSIGN(std::string normal, NormalizePath(path));
  AGENTFS_ASSIGN(Found start, Resolve(normal));
  const std::string below = normal.size() == 1 ? normal : normal + "/";
  TreeWalker walker(*fs_, caller_, std::move(start));
  for (;;) {
    if (stop.stop_requested()) return Error(ECANCELED);
    AGENTFS_ASSIGN(TreeWalker::Event event, walker.Next());
    if (event == TreeWalker::Event::kEnd) return Ok();
    if (event == TreeWalker::Event::kLeave) continue;
    FileEntry entry{std::string(walker.name()), below + walker.path(), walker.found().attr};
    if (walker.parent() == nullptr) {
      entry.name = FileName(normal);
      entry.path = normal;
    }
    if (visit(entry) == Visit::kStop) return Ok();
  }
}

}  // namespace agentfs
