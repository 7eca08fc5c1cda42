// SPDX-License-Identifier: Apache-2.0
#include "workspace/apply_conflicts.h"

#include <sys/stat.h>

#include "absl/container/flat_hash_set.h"
#include "agentfs/files.h"
#include "base/clock.h"
#include "core/originals.h"
#include "workspace/file_content.h"
#include "workspace/git_index.h"
#include "workspace/git_quote.h"
#include "workspace/text_lines.h"

namespace agentfs {
namespace {

using ConflictKind = ApplyConflict::Kind;
using MaybeConflict = std::optional<ApplyConflict>;

constexpr uint64_t kMaxMerged = uint64_t{16} << 20;

MaybeConflict In(ConflictKind kind, const PathChange& change) {
  return ApplyConflict{kind, change.path, {}, {}};
}

std::string Shown(std::string_view path) { return GitQuote(KnownPath(path)); }

// The base's file is the one whose node the branch has changed.
bool LooksAsThen(const PathChange& change) {
  const Attr& now = change.before.attr;
  const BaseSignature& then = change.base_signature;
  return now.size == then.size && now.mtime == then.mtime && now.ctime == then.ctime;
}

bool ChangedSince(const PathChange& change) {
  return ToMilliseconds(change.before.attr.ctime) > change.since_ms;
}

MaybeConflict ConflictOfAdded(const Views& views, const PathChange& change) {
  if (change.since_ms != 0) return In(ConflictKind::kVanished, change);
  if (!change.base_path || S_ISDIR(change.after.attr.mode)) return MaybeConflict();
  // A file of the base under a new name.
  const bool there = Files(views.before).Resolve("/" + *change.base_path, FollowLinks::kNo).ok();
  return there ? MaybeConflict() : In(ConflictKind::kVanished, change);
}

MaybeConflict ConflictOfModified(const PathChange& change) {
  const bool same_node = change.before.attr.node == change.after.attr.node;
  const bool directories = S_ISDIR(change.before.attr.mode) && S_ISDIR(change.after.attr.mode);
  if (directories) return MaybeConflict();
  if (same_node) {
    return change.content && !LooksAsThen(change) ? In(ConflictKind::kChanged, change)
                                                  : MaybeConflict();
  }
  if (change.since_ms == 0) return In(ConflictKind::kAppeared, change);
  // What is new in a directory is listed by itself; what has gone from it was perhaps applied.
  const bool changed = !S_ISDIR(change.before.attr.mode) && ChangedSince(change);
  return changed ? In(ConflictKind::kChanged, change) : MaybeConflict();
}

// A regular one, of a size that fits in memory.
bool IsFile(const Found& found) {
  return found.node && S_ISREG(found.attr.mode) && found.attr.size <= kMaxMerged;
}

bool AreFiles(const PathChange& change) { return IsFile(change.before) && IsFile(change.after); }

Result<bool> SaySame(std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (!LooksLikeGitIndex(a) || !LooksLikeGitIndex(b)) return false;
  return SameGitIndex(a, b);
}

// What the base had at the path when the branch replaced it; none: it was not kept.
Result<std::optional<std::string>> OriginalOf(const Views& views, const PathChange& change) {
  Result<std::string> original =
      views.after->GetXattr(Caller{}, *change.after.node, kOriginalXattr);
  if (original.code() == ENODATA) return std::optional<std::string>();
  if (!original.ok()) return original.error();
  const std::string& path = change.old_path.empty() ? change.path : change.old_path;
  const size_t end = original->find('\0');
  if (end == original->npos || "/" + original->substr(0, end) != path) {
    return std::optional<std::string>();
  }
  return std::optional<std::string>(original->substr(end + 1));
}

}  // namespace

std::string ApplyConflict::reason() const {
  switch (kind) {
    case ConflictKind::kChanged:
      return "changed in the base since the branch saw it";
    case ConflictKind::kAppeared:
      return "appeared in the base, where the branch has something else";
    case ConflictKind::kVanished:
      return "gone from the base, changed in the branch";
    case ConflictKind::kOverlaps:
      return "changed in both, and cannot be merged";
    case ConflictKind::kMoved:
      return "the branch has " + Shown(from) + " as " + Shown(to) + ": apply both, or neither";
  }
  return "";
}

Result<std::optional<ApplyConflict>> FindConflict(const Views& views, const PathChange& change) {
  switch (change.kind) {
    case PathChange::Kind::kAdded:
      return ConflictOfAdded(views, change);
    case PathChange::Kind::kRemoved:
      if (S_ISDIR(change.before.attr.mode)) return MaybeConflict();
      if (change.since_ms == 0) return In(ConflictKind::kAppeared, change);
      return ChangedSince(change) ? In(ConflictKind::kChanged, change) : MaybeConflict();
    case PathChange::Kind::kModified:
      return ConflictOfModified(change);
    case PathChange::Kind::kRenamed:
      return change.content && !LooksAsThen(change) ? In(ConflictKind::kChanged, change)
                                                    : MaybeConflict();
  }
  return MaybeConflict();
}

std::vector<ApplyConflict> FindCutMoves(const CutMoves& cut,
                                        const std::vector<PathChange>& changes) {
  std::vector<ApplyConflict> conflicts;
  absl::flat_hash_set<const Move*> told;
  for (const PathChange& change : changes) {
    const Move* move = cut.From(change.path);
    if (move == nullptr && !change.old_path.empty()) move = cut.From(change.old_path);
    if (move == nullptr) move = cut.To(change.path);
    if (move == nullptr || !told.insert(move).second) continue;
    conflicts.push_back({ConflictKind::kMoved, change.path, move->from, move->to});
  }
  return conflicts;
}

Result<bool> SaysTheSame(const Views& views, const PathChange& change) {
  if (!AreFiles(change)) return false;
  AGENTFS_ASSIGN(const auto original, OriginalOf(views, change));
  if (!original) return false;
  AGENTFS_ASSIGN(const std::string now,
                 ReadWhole(*views.before, *change.before.node, change.before.attr.size));
  return SaySame(*original, now);
}

Result<std::vector<std::string>> FindSame(const Views& base_and_snapshot,
                                          const std::vector<std::string>& paths) {
  const auto& [base, snapshot] = base_and_snapshot;
  std::vector<std::string> same;
  for (const std::string& path : paths) {
    const auto now = Files(base).Resolve(path, FollowLinks::kNo);
    const auto then = Files(snapshot).Resolve(path, FollowLinks::kNo);
    if (!now.ok() || !then.ok() || !IsFile(*now) || !IsFile(*then)) continue;
    AGENTFS_ASSIGN(const std::string a, ReadWhole(*base, *now->node, now->attr.size));
    AGENTFS_ASSIGN(const std::string b, ReadWhole(*snapshot, *then->node, then->attr.size));
    AGENTFS_ASSIGN(const bool says_same, SaySame(a, b));
    if (says_same) same.push_back(path);
  }
  return same;
}

Result<std::optional<std::string>> MergeChange(const Views& views, const PathChange& change) {
  if (!AreFiles(change)) return std::optional<std::string>();
  AGENTFS_ASSIGN(const auto original, OriginalOf(views, change));
  if (!original) return std::optional<std::string>();
  AGENTFS_ASSIGN(const std::string ours,
                 ReadWhole(*views.before, *change.before.node, change.before.attr.size));
  AGENTFS_ASSIGN(const std::string theirs,
                 ReadWhole(*views.after, *change.after.node, change.after.attr.size));
  if (LooksBinary(ours) || LooksBinary(theirs)) return std::optional<std::string>();
  return MergeLines(*original, ours, theirs);
}

}  // namespace agentfs
