// SPDX-License-Identifier: Apache-2.0
//
// Two trees are compared from the root down, but only where a layer between them has rows: in a
// directory that both have, only the names that lead to something touched are looked at.
#include "workspace/changes.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "workspace/locate.h"

namespace agentfs {
namespace {

constexpr size_t kPiece = size_t{128} << 10;
constexpr uint32_t kModeBits = 07777;

std::string Join(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (path.empty() || path.back() != '/') path.push_back('/');
  return path.append(name);
}

Result<bool> SameBytes(FileSystem& a_fs, const Found& a, FileSystem& b_fs, const Found& b) {
  if (a.attr.size != b.attr.size) return false;
  std::vector<char> left(kPiece), right(kPiece);
  for (uint64_t at = 0; at < a.attr.size; at += kPiece) {
    AGENTFS_ASSIGN(const size_t got, a_fs.Read(*a.node, at, left));
    AGENTFS_ASSIGN(const size_t other, b_fs.Read(*b.node, at, right));
    if (got != other || !std::equal(left.begin(), left.begin() + got, right.begin())) return false;
    if (got == 0) break;
  }
  return true;
}

// A name in the root.
bool IsInScope(std::string_view name, ChangeScope scope) {
  if (scope == ChangeScope::kAll) return true;
  return (name == kStateDirectory) == (scope == ChangeScope::kHost);
}

class Comparison {
 public:
  Comparison(FileSystem& before, FileSystem& after, ChangeScope scope)
      : before_(before), after_(after), scope_(scope) {}

  Result<std::vector<PathChange>> Run(const Touched& touched);

 private:
  using Names = std::set<std::string, std::less<>>;

  Result<void> NoteWays(FileSystem& fs, NodeRef node, absl::flat_hash_set<NodeId>& noted);
  Result<void> CompareDirectories(Node& before, Node& after, const std::string& path);
  Result<void> CompareName(Node& before, Node& after, std::string_view name,
                           const std::string& path);
  Result<void> CompareNodes(const Found& before, const Found& after, const std::string& path);
  Result<void> AddTree(PathChange::Kind kind, FileSystem& fs, Found found, const std::string& path);
  Result<void> Describe(PathChange& change);
  Result<void> PairRenames();

  FileSystem& before_;
  FileSystem& after_;
  const ChangeScope scope_;
  absl::flat_hash_set<NodeId> touched_;
  // In each directory the names that lead to something touched.
  absl::flat_hash_map<NodeId, Names> ways_;
  std::vector<PathChange> changes_;
};

Result<std::optional<Found>> Find(FileSystem& fs, Node& directory, std::string_view name) {
  Result<Found> found = fs.Lookup(Caller{}, directory, name);
  if (found.ok()) return std::optional<Found>(std::move(*found));
  if (found.code() == ENOENT || found.code() == ESTALE) return std::optional<Found>();
  return found.error();
}

// The names on the way from the root to the node.
Result<void> Comparison::NoteWays(FileSystem& fs, NodeRef node,
                                  absl::flat_hash_set<NodeId>& noted) {
  while (node->id() != kRootNode && noted.insert(node->id()).second) {
    Result<Named> named = fs.NameOf(*node);
    if (!named.ok()) {
      if (named.code() == ENOENT || named.code() == ESTALE) return Ok();  // it has no name here
      return named.error();
    }
    ways_[named->parent->id()].insert(std::move(named->name));
    node = std::move(named->parent);
  }
  return Ok();
}

Result<std::vector<PathChange>> Comparison::Run(const Touched& touched) {
  for (const Touched::Name& name : touched.names) ways_[name.parent].insert(name.name);
  for (FileSystem* fs : {&before_, &after_}) {
    absl::flat_hash_set<NodeId> noted;
    for (const Touched::Node& item : touched.nodes) {
      touched_.insert(item.node);
      Result<NodeRef> node = fs->GetNode(item.node, item.base_path);
      if (node.ok()) {
        AGENTFS_TRY(NoteWays(*fs, std::move(*node), noted));
      } else if (node.code() != ENOENT) {
        return node.error();
      }
    }
  }
  AGENTFS_TRY(CompareDirectories(*before_.Root(), *after_.Root(), "/"));
  AGENTFS_TRY(PairRenames());
  std::sort(changes_.begin(), changes_.end(),
            [](const PathChange& a, const PathChange& b) { return a.path < b.path; });
  return std::move(changes_);
}

Result<void> Comparison::CompareDirectories(Node& before, Node& after, const std::string& path) {
  auto it = ways_.find(after.id());
  if (it == ways_.end()) return Ok();
  for (const std::string& name : it->second) {
    if (after.id() == kRootNode && !IsInScope(name, scope_)) continue;
    AGENTFS_TRY(CompareName(before, after, name, Join(path, name)));
  }
  return Ok();
}

Result<void> Comparison::CompareName(Node& before, Node& after, std::string_view name,
                                     const std::string& path) {
  AGENTFS_ASSIGN(std::optional<Found> old_state, Find(before_, before, name));
  AGENTFS_ASSIGN(std::optional<Found> new_state, Find(after_, after, name));
  const bool same = old_state && new_state && old_state->node->id() == new_state->node->id();
  if (same) return CompareNodes(*old_state, *new_state, path);
  if (old_state) {
    AGENTFS_TRY(AddTree(PathChange::Kind::kRemoved, before_, std::move(*old_state), path));
  }
  if (!new_state) return Ok();
  return AddTree(PathChange::Kind::kAdded, after_, std::move(*new_state), path);
}

Result<void> Comparison::CompareNodes(const Found& before, const Found& after,
                                      const std::string& path) {
  if (touched_.contains(after.node->id())) {
    PathChange change{PathChange::Kind::kModified, path, {}, before, after};
    AGENTFS_TRY(Describe(change));
    if (change.content || change.mode) changes_.push_back(std::move(change));
  }
  if (!S_ISDIR(after.attr.mode)) return Ok();
  return CompareDirectories(*before.node, *after.node, path);
}

// The path and everything below it. Iterative, since trees are deeper than stacks.
Result<void> Comparison::AddTree(PathChange::Kind kind, FileSystem& fs, Found found,
                                 const std::string& path) {
  std::vector<std::pair<Found, std::string>> left;
  left.emplace_back(std::move(found), path);
  while (!left.empty()) {
    Found at = std::move(left.back().first);
    const std::string at_path = std::move(left.back().second);
    left.pop_back();
    if (S_ISDIR(at.attr.mode)) {
      AGENTFS_TRY(fs.ReadDirectoryPlus(Caller{}, *at.node, 0,
                                       [&](const DirEntry& entry, const Found& child) {
                                         left.emplace_back(child, Join(at_path, entry.name));
                                         return Visit::kContinue;
                                       }));
    }
    PathChange change{kind, at_path, {}, {}, {}};
    (kind == PathChange::Kind::kAdded ? change.after : change.before) = std::move(at);
    changes_.push_back(std::move(change));
  }
  return Ok();
}

// What differs between the two states of a node.
Result<void> Comparison::Describe(PathChange& change) {
  const Attr& a = change.before.attr;
  const Attr& b = change.after.attr;
  change.mode = (a.mode & kModeBits) != (b.mode & kModeBits) || a.uid != b.uid || a.gid != b.gid;
  if (S_ISREG(b.mode) && touched_.contains(b.node)) {
    AGENTFS_ASSIGN(const bool same, SameBytes(before_, change.before, after_, change.after));
    change.content = !same;
  }
  return Ok();
}

// What went from one path and came at another is the same node.
Result<void> Comparison::PairRenames() {
  absl::flat_hash_map<NodeId, size_t> removed;
  for (size_t i = 0; i < changes_.size(); ++i) {
    if (changes_[i].kind == PathChange::Kind::kRemoved) removed[changes_[i].before.attr.node] = i;
  }
  std::vector<bool> paired(changes_.size(), false);
  for (PathChange& change : changes_) {
    if (change.kind != PathChange::Kind::kAdded) continue;
    auto it = removed.find(change.after.attr.node);
    if (it == removed.end()) continue;
    PathChange& old = changes_[it->second];
    paired[it->second] = true;
    removed.erase(it);  // a second name of it is new
    change.kind = PathChange::Kind::kRenamed;
    change.old_path = old.path;
    change.before = old.before;
    AGENTFS_TRY(Describe(change));
  }
  size_t kept = 0;
  for (size_t i = 0; i < changes_.size(); ++i) {
    if (paired[i]) continue;
    if (kept != i) changes_[kept] = std::move(changes_[i]);
    ++kept;
  }
  changes_.resize(kept);
  return Ok();
}

}  // namespace

Result<std::shared_ptr<FileSystem>> OpenRef(Volume& volume, std::string_view ref) {
  for (const BranchInfo& branch : volume.ListBranches()) {
    if (branch.name == ref) return volume.OpenBranch(ref);
  }
  return volume.OpenSnapshot(ref);
}

Result<std::vector<PathChange>> FindChanges(Volume& volume, std::string_view from,
                                            std::string_view to, ChangeScope scope) {
  AGENTFS_ASSIGN(const std::shared_ptr<FileSystem> before, OpenRef(volume, from));
  AGENTFS_ASSIGN(const std::shared_ptr<FileSystem> after, OpenRef(volume, to));
  AGENTFS_ASSIGN(const Touched touched, volume.TouchedBetween(from, to));
  return Comparison(*before, *after, scope).Run(touched);
}

}  // namespace agentfs
