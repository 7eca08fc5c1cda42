// SPDX-License-Identifier: Apache-2.0
//
// Two trees are compared from the root down, but only where a layer between them has rows: in a
// directory that both have, only the names that lead to something touched are looked at.
#include "workspace/changes.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "workspace/file_content.h"
#include "workspace/further_names.h"
#include "workspace/locate.h"

namespace agentfs {
namespace {

constexpr uint32_t kModeBits = 07777;

// What is read to compare content, at most, with Effort::kBounded.
constexpr uint64_t kMostCompared = uint64_t{16} << 20;

std::string Join(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (path.empty() || path.back() != '/') path.push_back('/');
  return path.append(name);
}

// A name in the root.
bool IsInScope(std::string_view name, ChangeScope scope) {
  if (scope == ChangeScope::kAll) return true;
  return (name == kStateDirectory) == (scope == ChangeScope::kHost);
}

class Comparison {
 public:
  Comparison(FileSystem& before, FileSystem& after, ChangeScope scope, Effort effort)
      : before_(before),
        after_(after),
        scope_(scope),
        readable_(effort == Effort::kExact ? UINT64_MAX : kMostCompared) {}

  Result<std::vector<PathChange>> Run(const Touched& touched);
  std::vector<StandIn>& moved() { return moved_; }

 private:
  using Names = std::set<std::string, std::less<>>;
  struct Pair {
    NodeRef before, after;  // directories
    std::string path;
    std::optional<std::string> base_path;  // where the base has the second
    int64_t since_ms = 0;                  // if one stands in the place of the other
  };

  Result<void> NoteWays(FileSystem& fs, NodeRef node, absl::flat_hash_set<NodeId>& noted);
  Result<void> NoteNode(FileSystem& fs, NodeId id, const std::string& base_path,
                        absl::flat_hash_set<NodeId>& noted);
  Result<void> NoteFurtherNames(const Touched& touched);
  Result<void> CompareDirectories(const Pair& pair);
  Result<void> CompareName(const Pair& pair, std::string_view name);
  Result<void> CompareNodes(Found before, Found after, const std::string& path,
                            std::optional<std::string> base_path, int64_t since_ms);
  std::optional<std::string> BasePathOf(const Pair& parent, std::string_view name,
                                        NodeId node) const;
  void NoteStandIn(const Pair& pair);
  void NoteSame(const PathChange& change);
  Result<void> AddTree(PathChange::Kind kind, FileSystem& fs, Found found, const std::string& path,
                       int64_t since_ms);
  void NoteBase(PathChange& change) const;
  Result<void> Describe(PathChange& change);
  Result<bool> SameContent(const PathChange& change);
  Result<bool> SameXattrs(const PathChange& change);
  Result<void> PairRenames();
  Result<void> PairPaths();

  FileSystem& before_;
  FileSystem& after_;
  const ChangeScope scope_;
  uint64_t readable_;  // bytes that may still be compared
  absl::flat_hash_map<NodeId, const Touched::Node*> touched_;
  absl::flat_hash_set<std::string_view> known_paths_;  // in the base, of what was touched
  absl::flat_hash_map<std::pair<NodeId, std::string_view>, int64_t> since_;
  // In each directory the names that lead to something touched.
  absl::flat_hash_map<NodeId, Names> ways_;
  std::vector<NodeRef> held_;  // so that directories are read once
  std::vector<Pair> left_;     // directories to compare
  std::vector<PathChange> changes_;
  std::vector<StandIn> moved_;
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
    held_.push_back(node);
  }
  return Ok();
}

Result<void> Comparison::NoteNode(FileSystem& fs, NodeId id, const std::string& base_path,
                                  absl::flat_hash_set<NodeId>& noted) {
  Result<NodeRef> node = fs.GetNode(id, base_path);
  if (node.ok()) {
    held_.push_back(*node);
    return NoteWays(fs, std::move(*node), noted);
  }
  return node.code() == ENOENT ? Ok() : Result<void>(node.error());
}

Result<void> Comparison::NoteFurtherNames(const Touched& touched) {
  if (scope_ == ChangeScope::kHost) return Ok();
  AGENTFS_ASSIGN(const auto names, FindFurtherNames(before_, after_, touched));
  absl::flat_hash_set<NodeId> noted;
  for (const FurtherName& each : names) {
    ways_[each.parent->id()].insert(each.name);
    AGENTFS_TRY(NoteWays(after_, each.parent, noted));
  }
  return Ok();
}

Result<std::vector<PathChange>> Comparison::Run(const Touched& touched) {
  for (const Touched::Name& name : touched.names) {
    ways_[name.parent].insert(name.name);
    if (name.since_ms != 0) since_[{name.parent, name.name}] = name.since_ms;
  }
  // Where a touched name leads, nobody need look for.
  absl::flat_hash_set<NodeId> named, parents;
  for (const Touched::Name& name : touched.names) {
    if (touched.one_line && name.node) named.insert(name.node);
    parents.insert(name.parent);
  }
  for (const Touched::Node& item : touched.nodes) {
    touched_.emplace(item.node, &item);
    if (item.has_base) known_paths_.insert(item.base_path);
  }
  for (FileSystem* fs : {&before_, &after_}) {
    absl::flat_hash_set<NodeId> noted;
    for (const NodeId parent : parents) {
      const auto it = touched_.find(parent);
      AGENTFS_TRY(NoteNode(*fs, parent, it == touched_.end() ? "" : it->second->base_path, noted));
    }
    for (const Touched::Node& item : touched.nodes) {
      if (item.nlink <= 1 && named.contains(item.node)) continue;
      AGENTFS_TRY(NoteNode(*fs, item.node, item.base_path, noted));
    }
  }
  AGENTFS_TRY(NoteFurtherNames(touched));
  // Iterative, since trees are deeper than stacks.
  left_.push_back({before_.Root(), after_.Root(), "/", ""});
  while (!left_.empty()) {
    const Pair pair = std::move(left_.back());
    left_.pop_back();
    AGENTFS_TRY(CompareDirectories(pair));
  }
  AGENTFS_TRY(PairRenames());
  AGENTFS_TRY(PairPaths());
  std::sort(changes_.begin(), changes_.end(),
            [](const PathChange& a, const PathChange& b) { return a.path < b.path; });
  return std::move(changes_);
}

Result<void> AddNames(FileSystem& fs, Node& directory, std::set<std::string, std::less<>>& names) {
  return fs.ReadDirectory(Caller{}, directory, 0, [&](const DirEntry& entry) {
    names.emplace(entry.name);
    return Visit::kContinue;
  });
}

Result<void> Comparison::CompareDirectories(const Pair& pair) {
  Names names;
  if (pair.before->id() != pair.after->id()) {
    // One was put in the place of the other: anything may differ.
    AGENTFS_TRY(AddNames(before_, *pair.before, names));
    AGENTFS_TRY(AddNames(after_, *pair.after, names));
  } else if (auto it = ways_.find(pair.after->id()); it != ways_.end()) {
    names = std::move(it->second);
  }
  for (const std::string& name : names) {
    if (pair.after->id() == kRootNode && !IsInScope(name, scope_)) continue;
    AGENTFS_TRY(CompareName(pair, name));
  }
  return Ok();
}

Result<void> Comparison::CompareName(const Pair& pair, std::string_view name) {
  AGENTFS_ASSIGN(std::optional<Found> before, Find(before_, *pair.before, name));
  AGENTFS_ASSIGN(std::optional<Found> after, Find(after_, *pair.after, name));
  const std::string path = Join(pair.path, name);
  const auto taken = since_.find({pair.after->id(), name});
  // What a directory that came from elsewhere has taken was the base's there, not here.
  const bool moved_here = pair.before->id() != pair.after->id();
  const int64_t own = moved_here || taken == since_.end() ? 0 : taken->second;
  const int64_t since = moved_here ? pair.since_ms : own;
  if (before && after) {
    const bool same = before->node->id() == after->node->id();
    const bool directories = S_ISDIR(before->attr.mode) && S_ISDIR(after->attr.mode);
    if (same || directories) {
      auto base_path = BasePathOf(pair, name, after->node->id());
      return CompareNodes(std::move(*before), std::move(*after), path, std::move(base_path), since);
    }
  }
  if (before) {
    AGENTFS_TRY(AddTree(PathChange::Kind::kRemoved, before_, std::move(*before), path, since));
  }
  if (!after) return Ok();
  // What its directory has replaced has no say about a name that is new.
  return AddTree(PathChange::Kind::kAdded, after_, std::move(*after), path, own);
}

Result<void> Comparison::CompareNodes(Found before, Found after, const std::string& path,
                                      std::optional<std::string> base_path, int64_t since_ms) {
  const bool directory = S_ISDIR(after.attr.mode);
  const bool same = before.node->id() == after.node->id();
  if (directory) {
    left_.push_back({before.node, after.node, path, std::move(base_path), same ? 0 : since_ms});
    if (!same) NoteStandIn(left_.back());
  }
  if (same && !touched_.contains(after.node->id())) return Ok();
  PathChange change{PathChange::Kind::kModified, path, {}, std::move(before), std::move(after)};
  change.since_ms = since_ms;
  NoteBase(change);
  AGENTFS_TRY(Describe(change));
  if (change.content || change.mode || change.xattrs) changes_.push_back(std::move(change));
  return Ok();
}

// What no layer has said anything about, the base has in its directory.
std::optional<std::string> Comparison::BasePathOf(const Pair& parent, std::string_view name,
                                                  NodeId node) const {
  const auto it = touched_.find(node);
  if (it != touched_.end()) {
    return it->second->has_base ? std::optional(it->second->base_path) : std::nullopt;
  }
  if (!parent.base_path) return std::nullopt;
  return parent.base_path->empty() ? std::string(name)
                                   : *parent.base_path + "/" + std::string(name);
}

void Comparison::NoteStandIn(const Pair& pair) {
  StandIn& noted = moved_.emplace_back();
  noted.path = pair.path;
  noted.base_path = pair.base_path;
  if (touched_.contains(pair.after->id())) noted.recorded = pair.after->id();
  const std::string_view in_base = std::string_view(pair.path).substr(1);
  noted.exchanged = pair.base_path ? *pair.base_path != in_base : known_paths_.contains(in_base);
}

// Of what is no directory, and another one without any difference.
void Comparison::NoteSame(const PathChange& change) {
  const NodeId before = change.before.attr.node, after = change.after.attr.node;
  StandIn same{change.path, std::nullopt, touched_.contains(after) ? after : NodeId(), false};
  // What has further names is known by those too, in the base.
  same.exchanged = touched_.contains(before) && change.before.attr.nlink == 1;
  if (same.recorded || same.exchanged) moved_.push_back(std::move(same));
}

void Comparison::NoteBase(PathChange& change) const {
  const auto it = touched_.find(change.after.attr.node);
  if (!change.after.node || it == touched_.end() || !it->second->has_base) return;
  change.base_path = it->second->base_path;
  change.base_signature = it->second->signature;
}

// The path and everything below it. Iterative, since trees are deeper than stacks.
Result<void> Comparison::AddTree(PathChange::Kind kind, FileSystem& fs, Found found,
                                 const std::string& path, int64_t since_ms) {
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
    // What is in a directory that came has no names of the base's.
    const bool added_below = kind == PathChange::Kind::kAdded && change.path != path;
    change.since_ms = added_below ? 0 : since_ms;
    NoteBase(change);
    changes_.push_back(std::move(change));
  }
  return Ok();
}

// What differs between the two states of a path.
Result<void> Comparison::Describe(PathChange& change) {
  const Attr& a = change.before.attr;
  const Attr& b = change.after.attr;
  const bool link = S_ISLNK(a.mode) && S_ISLNK(b.mode);  // whose bits mean nothing
  change.mode =
      (!link && (a.mode & kModeBits) != (b.mode & kModeBits)) || a.uid != b.uid || a.gid != b.gid;
  change.content = change.type_changed();
  if (change.content) return Ok();
  // The same node, without a row of its own between the two.
  if (a.node == b.node && !touched_.contains(b.node)) return Ok();
  AGENTFS_ASSIGN(const bool same_content, SameContent(change));
  AGENTFS_ASSIGN(const bool same_xattrs, SameXattrs(change));
  change.content = !same_content;
  change.xattrs = !same_xattrs;
  return Ok();
}

Result<bool> Comparison::SameContent(const PathChange& change) {
  switch (change.after.attr.mode & S_IFMT) {
    case S_IFREG: {
      const uint64_t size = change.after.attr.size;
      if (size != change.before.attr.size || size > readable_) return false;
      readable_ -= size;
      Result<bool> same = SameBytes(before_, change.before, after_, change.after);
      // A part of it is the base's, which has changed: nobody can say what it is now.
      if (same.code() == EIO) return false;
      return same;
    }
    case S_IFLNK: {
      AGENTFS_ASSIGN(const std::string a, before_.ReadLink(Caller{}, *change.before.node));
      AGENTFS_ASSIGN(const std::string b, after_.ReadLink(Caller{}, *change.after.node));
      return a == b;
    }
    case S_IFCHR:
    case S_IFBLK:
      return change.before.attr.rdev == change.after.attr.rdev;
    default:
      return true;
  }
}

Result<bool> Comparison::SameXattrs(const PathChange& change) {
  AGENTFS_ASSIGN(const auto a, ReadXattrs(before_, *change.before.node));
  AGENTFS_ASSIGN(const auto b, ReadXattrs(after_, *change.after.node));
  return a == b;
}

void Compact(std::vector<PathChange>& changes, const std::vector<bool>& dropped) {
  size_t kept = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (dropped[i]) continue;
    if (kept != i) changes[kept] = std::move(changes[i]);
    ++kept;
  }
  changes.resize(kept);
}

using Paths = absl::flat_hash_map<std::string_view, size_t>;

Paths PathsOf(const std::vector<PathChange>& changes, PathChange::Kind kind) {
  Paths paths;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].kind == kind) paths[changes[i].path] = i;
  }
  return paths;
}

// What went from one path and came at another is the same node.
Result<void> Comparison::PairRenames() {
  const Paths removed_paths = PathsOf(changes_, PathChange::Kind::kRemoved);
  const Paths added_paths = PathsOf(changes_, PathChange::Kind::kAdded);
  absl::flat_hash_map<NodeId, size_t> removed;  // of several names the first
  for (const auto& [path, i] : removed_paths) {
    if (added_paths.contains(path)) continue;
    const auto [known, is_new] = removed.try_emplace(changes_[i].before.attr.node, i);
    if (!is_new && path < changes_[known->second].path) known->second = i;
  }
  std::vector<bool> paired(changes_.size(), false);
  for (size_t i = 0; i < changes_.size(); ++i) {
    PathChange& change = changes_[i];
    if (change.kind != PathChange::Kind::kAdded || removed_paths.contains(change.path)) continue;
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
  Compact(changes_, paired);
  return Ok();
}

// What came where something went has replaced it.
Result<void> Comparison::PairPaths() {
  const Paths removed = PathsOf(changes_, PathChange::Kind::kRemoved);
  std::vector<bool> dropped(changes_.size(), false);
  for (size_t i = 0; i < changes_.size(); ++i) {
    PathChange& change = changes_[i];
    if (change.kind != PathChange::Kind::kAdded) continue;
    auto it = removed.find(change.path);
    if (it == removed.end()) continue;
    dropped[it->second] = true;
    change.kind = PathChange::Kind::kModified;
    change.before = changes_[it->second].before;
    change.since_ms = changes_[it->second].since_ms;
    AGENTFS_TRY(Describe(change));
    dropped[i] = !change.content && !change.mode && !change.xattrs;
    if (dropped[i]) NoteSame(change);
  }
  Compact(changes_, dropped);
  return Ok();
}

}  // namespace

bool IsAtOrBelow(std::string_view path, const std::vector<std::string>& directories) {
  return std::any_of(directories.begin(), directories.end(), [&](std::string_view directory) {
    if (directory == "/" || path == directory) return true;
    return path.size() > directory.size() && path.starts_with(directory) &&
           path[directory.size()] == '/';
  });
}

ChangeScope ScopeOf(const std::vector<std::string>& paths) {
  const auto outside = static_cast<size_t>(std::count_if(
      paths.begin(), paths.end(), [](const std::string& path) { return IsOutside(path); }));
  if (outside == 0) return ChangeScope::kWorkspace;
  return outside == paths.size() ? ChangeScope::kHost : ChangeScope::kAll;
}

bool PathChange::type_changed() const {
  return before.node && after.node && ((before.attr.mode ^ after.attr.mode) & S_IFMT) != 0;
}

std::vector<PathChange> SelectPaths(std::vector<PathChange> changes,
                                    const std::vector<std::string>& paths) {
  if (paths.empty()) return changes;
  std::erase_if(changes, [&](PathChange& change) {
    const bool here = IsAtOrBelow(change.path, paths);
    if (change.kind != PathChange::Kind::kRenamed) return !here;
    const bool was_here = IsAtOrBelow(change.old_path, paths);
    if (here && was_here) return false;
    change.kind = here ? PathChange::Kind::kAdded : PathChange::Kind::kRemoved;
    if (!here) change.path = change.old_path;
    (here ? change.before : change.after) = Found();
    change.old_path.clear();
    return !here && !was_here;
  });
  std::sort(changes.begin(), changes.end(),
            [](const PathChange& a, const PathChange& b) { return a.path < b.path; });
  return changes;
}

Result<std::shared_ptr<FileSystem>> OpenRef(Volume& volume, std::string_view ref) {
  for (const BranchInfo& branch : volume.ListBranches()) {
    if (branch.name == ref) return volume.OpenBranch(ref);
  }
  return volume.OpenSnapshot(ref);
}

Result<Views> OpenViews(Volume& volume, std::string_view from, std::string_view to) {
  Views views;
  AGENTFS_ASSIGN(views.before, OpenRef(volume, from));
  AGENTFS_ASSIGN(views.after, OpenRef(volume, to));
  return views;
}

Result<std::vector<PathChange>> FindChanges(Volume& volume, std::string_view from,
                                            std::string_view to, ChangeScope scope, Effort effort,
                                            std::vector<StandIn>* moved) {
  AGENTFS_ASSIGN(const Views views, OpenViews(volume, from, to));
  AGENTFS_ASSIGN(const Touched touched, volume.TouchedBetween(from, to));
  Comparison comparison(*views.before, *views.after, scope, effort);
  AGENTFS_ASSIGN(auto changes, comparison.Run(touched));
  if (moved != nullptr) *moved = std::move(comparison.moved());
  return changes;
}

}  // namespace agentfs
