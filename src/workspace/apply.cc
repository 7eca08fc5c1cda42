// SPDX-License-Identifier: Apache-2.0
#include "workspace/apply.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "agentfs/files.h"
#include "agentfs/path.h"
#include "base/clock.h"
#include "core/kept_base.h"
#include "workspace/apply_conflicts.h"
#include "workspace/apply_steps.h"
#include "workspace/history.h"
#include "workspace/restore_paths.h"
#include "workspace/with_parents.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnderWay = "applying", kLast = "applied";

std::string JournalDirectory(const Layout& layout, std::string_view name) {
  return fs::path(layout.database).parent_path() / name;
}

bool IsThere(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool HasSnapshot(Volume& volume, const std::string& name) {
  const auto all = volume.ListSnapshots();
  return std::any_of(all.begin(), all.end(),
                     [&](const SnapshotInfo& each) { return each.name == name; });
}

bool HasBranch(Volume& volume, const std::string& name) {
  const auto all = volume.ListBranches();
  return std::any_of(all.begin(), all.end(),
                     [&](const BranchInfo& each) { return each.name == name; });
}

// Where the branch is what the base is. If all was applied, with the directories above them: of
// these the branch has seen now what the base has in them, and those that it had put in the place
// of others are the base's own. A part says nothing of what else is in a directory.
std::vector<std::string> SettledPaths(const ApplyRecord& record) {
  std::set<std::string> all(record.settle.begin(), record.settle.end());
  for (const MovedBase& each : record.moved) all.insert("/" + each.to);
  if (!record.whole) return {all.begin(), all.end()};
  for (const std::string& path : std::vector<std::string>(all.begin(), all.end())) {
    std::string_view at = ParentPath(path);
    while (at != "/" && all.emplace(at).second) at = ParentPath(at);
  }
  return {all.begin(), all.end()};
}

NodeId NodeAt(const Files& files, const std::string& path) {
  const auto found = files.Resolve(path, FollowLinks::kNo);
  return found.ok() ? found->node->id() : NodeId();
}

// What the base called files that the branch has kept as its own when they were applied: paths of
// steps.
Result<std::vector<std::string>> FindOldNames(Volume& volume, const ApplyRecord& record) {
  AGENTFS_ASSIGN(const Views views, OpenViews(volume, "base", record.branch));
  AGENTFS_ASSIGN(const auto snapshot, volume.OpenSnapshot(record.snapshot));
  const Files base(views.before, Caller{}), now(views.after, Caller{}), then(snapshot, Caller{});
  absl::flat_hash_set<NodeId> own;
  for (const std::string& path : record.settle) {
    const NodeId node = NodeAt(now, path);
    if (node && node == NodeAt(then, path) && node != NodeAt(base, path)) own.insert(node);
  }
  std::vector<std::string> names;
  if (own.empty()) return names;
  AGENTFS_ASSIGN(const Touched touched, volume.TouchedBetween("base", record.snapshot));
  for (const Touched::Node& node : touched.nodes) {
    if (!own.contains(node.node) || node.base_path.empty()) continue;
    if (!NodeAt(then, "/" + node.base_path)) names.push_back(node.base_path);
  }
  return names;
}

}  // namespace

Result<Applier> Applier::Open(Volume& volume, const Layout& layout) {
  if (layout.base.empty()) {
    return Error(EINVAL, "the workspace has no base to apply changes to");
  }
  return Applier(volume, layout);
}

Result<HostTree> Applier::OpenBase() const {
  return HostTree::Open(layout_.base, std::string(kHostPrefix.substr(1)), "/");
}

Result<ApplyRun> Applier::OpenRun(const std::string& name) const {
  AGENTFS_ASSIGN(HostTree base, OpenBase());
  return ApplyRun(std::move(base), JournalDirectory(layout_, name), layout_.kept, hook_);
}

Result<ApplyPlan> Applier::Plan(const std::string& ref, const ApplyOptions& options) {
  ApplyPlan plan;
  plan.ref = ref;
  AGENTFS_ASSIGN(plan.views, OpenViews(volume_, "base", ref));
  AGENTFS_ASSIGN(const auto all, FindChanges(volume_, "base", ref, ScopeOf(options.paths),
                                             Effort::kExact, &plan.moved));
  const CutMoves cut(all, plan.moved, options.paths, plan.views.after);
  // Of a part of a directory nobody can say that it is the base's.
  std::erase_if(plan.moved, [&](const StandIn& each) {
    return !options.paths.empty() && !IsAtOrBelow(each.path, options.paths);
  });
  plan.changes = WithParents(all, SelectPaths(all, options.paths));
  plan.conflicts = FindCutMoves(cut, plan.changes);
  const bool cuts = !plan.conflicts.empty();
  for (const PathChange& change : plan.changes) {
    if (cuts || options.on_conflict == OnConflict::kOverwrite) break;
    AGENTFS_ASSIGN(auto conflict, FindConflict(plan.views, change));
    if (!conflict) continue;
    AGENTFS_ASSIGN(const bool same, SaysTheSame(plan.views, change));
    if (same) continue;
    if (options.on_conflict == OnConflict::kMerge) {
      AGENTFS_ASSIGN(auto merged, MergeChange(plan.views, change));
      if (merged) {
        plan.merged[change.path] = std::move(*merged);
        continue;
      }
      if (conflict->kind == ApplyConflict::Kind::kChanged) {
        conflict->kind = ApplyConflict::Kind::kOverlaps;
      }
    }
    plan.conflicts.push_back(std::move(*conflict));
  }
  AGENTFS_ASSIGN(plan.risks, FindRisks(plan.views, plan.changes));
  return plan;
}

Result<void> Applier::Apply(const ApplyPlan& plan, const std::string& branch, Extent extent) {
  AGENTFS_ASSIGN(ApplyRun run, OpenRun(std::string(kUnderWay)));
  AGENTFS_ASSIGN(const HostTree base, OpenBase());
  AGENTFS_ASSIGN(ApplyRecord record, MakeSteps(plan, base));
  record.branch = branch;
  record.whole = extent == Extent::kWhole;
  AGENTFS_TRY(NameKept(record));
  AGENTFS_TRY(NameMoved(plan, record));
  PlanSource source(plan);
  AGENTFS_TRY(run.Stage(std::move(record), source));
  auto committed = run.Commit();
  if (!committed.ok()) {
    AGENTFS_TRY(TakeBack(run));
    return committed;
  }
  return Finish(run);
}

Result<void> Applier::NameKept(ApplyRecord& record) {
  std::vector<std::string> paths;
  for (const ApplyStep& step : record.steps) {
    const bool goes = step.kind == ApplyStep::Kind::kRemove || (step.replaces && step.temp != "");
    paths.push_back(goes ? step.path : "");
  }
  AGENTFS_ASSIGN(const std::vector<std::string> names, volume_.KeptNames(paths));
  for (size_t i = 0; i < names.size(); ++i) record.steps[i].keep = names[i];
  return Ok();
}

// A directory, or a file with the same content, under another name. A directory that was taken back
// is another one in the base than the branch knows, and has no more than its path.
Result<void> Applier::NameMoved(const ApplyPlan& plan, ApplyRecord& record) {
  std::vector<std::string> from, to;
  for (const PathChange& change : plan.changes) {
    const NodeId node = change.after.attr.node;
    const bool arrives = change.kind == PathChange::Kind::kAdded || change.type_changed();
    if (arrives && change.base_path && S_ISDIR(change.after.attr.mode)) {
      record.moved.push_back({MoveKey(node), *change.base_path, change.path.substr(1)});
    }
    if (change.kind != PathChange::Kind::kRenamed || change.content) continue;
    from.push_back(change.old_path.substr(1));
    to.push_back(change.path.substr(1));
  }
  for (const StandIn& each : plan.moved) {
    const std::string path = each.path.substr(1);
    if (each.recorded || each.base_path) record.moved.push_back({0, "", path});
    if (!each.base_path || *each.base_path == path) continue;
    if (each.recorded) record.moved.push_back({MoveKey(each.recorded), *each.base_path, path});
    from.push_back(*each.base_path);
    to.push_back(path);
  }
  AGENTFS_ASSIGN(const std::vector<uint64_t> identities, volume_.MovableIdentities(from));
  for (size_t i = 0; i < from.size(); ++i) {
    if (identities[i] != 0) record.moved.push_back({identities[i], from[i], to[i]});
  }
  return Ok();
}

// Everything is as it was; but names that went and came back have other times of change.
Result<void> Applier::TakeBack(ApplyRun& run) {
  AGENTFS_TRY(run.Undo());
  const ApplyRecord record = run.record();
  AGENTFS_TRY(run.Remove());
  if (!HasBranch(volume_, record.branch)) return Ok();
  return volume_.FollowBase(record.branch, record.settle, FollowMode::kAccept);
}

Result<void> Applier::Finish(ApplyRun& run) {
  const ApplyRecord& record = run.record();
  AGENTFS_TRY(Settle(record));
  AGENTFS_TRY(NoteApply(layout_, HistoryEvent::Kind::kApply, record.time_ns, record.branch,
                        record.snapshot, record.settle.size()));
  AGENTFS_ASSIGN(ApplyRun last, OpenRun(std::string(kLast)));
  AGENTFS_TRY(last.Remove());
  std::error_code error;
  fs::rename(JournalDirectory(layout_, kUnderWay), JournalDirectory(layout_, kLast), error);
  if (error) return Error(error.value()).WithContext("cannot keep what was replaced");
  return Ok();
}

// What the base has now as the branch had it, the branch needs no more.
Result<void> Applier::Settle(const ApplyRecord& record) {
  if (!HasBranch(volume_, record.branch)) return Ok();
  if (!record.merged.empty()) {
    AGENTFS_TRY(RestorePaths(volume_, record.branch, "base", record.merged, forget_));
  }
  AGENTFS_TRY(
      FollowPaths(volume_, record.branch, SettledPaths(record), FollowMode::kUnlessNewer, forget_));
  for (const MovedBase& each : record.moved) {
    if (each.identity != 0) AGENTFS_TRY(volume_.BaseMoved(each.identity, each.to));
  }
  return volume_.Flush(Durability::kSynced);
}

Result<bool> Applier::Recover(Volume& volume, const Layout& layout) {
  if (layout.base.empty() || !IsThere(JournalDirectory(layout, kUnderWay))) return false;
  Applier applier(volume, layout);
  AGENTFS_ASSIGN(ApplyRun run, applier.OpenRun(std::string(kUnderWay)));
  AGENTFS_ASSIGN(const ApplyState state, run.Load());
  const bool settles = state == ApplyState::kSettling;
  if (settles || (state == ApplyState::kCommitting && run.Commit().ok())) {
    AGENTFS_TRY(applier.Finish(run));
    return true;
  }
  if (state == ApplyState::kReverting) {
    AGENTFS_TRY(applier.Revert(run));
    return true;
  }
  AGENTFS_TRY(applier.TakeBack(run));
  return true;
}

// ---- taking back

Result<std::optional<ApplyRecord>> Applier::Last() {
  if (!IsThere(JournalDirectory(layout_, kLast))) return std::optional<ApplyRecord>();
  AGENTFS_ASSIGN(ApplyRun run, OpenRun(std::string(kLast)));
  AGENTFS_TRY(run.Load());
  return std::optional<ApplyRecord>(run.record());
}

Result<std::vector<std::string>> Applier::ChangedSinceLast() {
  AGENTFS_ASSIGN(ApplyRun run, OpenRun(std::string(kLast)));
  AGENTFS_TRY(run.Load());
  AGENTFS_ASSIGN(std::vector<std::string> changed, run.ChangedSince());
  AGENTFS_ASSIGN(const auto same, RewrittenSince(run));
  std::erase_if(changed, [&](const std::string& path) {
    return std::find(same.begin(), same.end(), path) != same.end();
  });
  return changed;
}

// A person's `git status` writes git's index again, for instance.
Result<std::vector<std::string>> Applier::RewrittenSince(ApplyRun& run) {
  const ApplyRecord& record = run.record();
  if (!HasSnapshot(volume_, record.snapshot)) return std::vector<std::string>();
  AGENTFS_ASSIGN(std::vector<std::string> changed, run.ChangedSince());
  // These were never as the snapshot has them.
  std::erase_if(changed, [&](const std::string& path) {
    return std::find(record.merged.begin(), record.merged.end(), path) != record.merged.end();
  });
  if (changed.empty()) return changed;
  AGENTFS_ASSIGN(const Views views, OpenViews(volume_, "base", record.snapshot));
  return FindSame(views, changed);
}

Result<void> Applier::UndoLast() {
  std::error_code error;
  fs::rename(JournalDirectory(layout_, kLast), JournalDirectory(layout_, kUnderWay), error);
  if (error) return Error(error.value(), "there is no apply to take back");
  AGENTFS_ASSIGN(ApplyRun run, OpenRun(std::string(kUnderWay)));
  AGENTFS_TRY(run.Load());
  return Revert(run);
}

// A file that was renamed and written, and was in use when it was applied, is still the branch's
// own, known by the base's. That the base must not have back itself: one file would have two names.
Result<void> Applier::Revert(ApplyRun& run) {
  const ApplyRecord& record = run.record();
  if (HasSnapshot(volume_, record.snapshot) && HasBranch(volume_, record.branch)) {
    AGENTFS_ASSIGN(const std::vector<std::string> names, FindOldNames(volume_, record));
    run.GiveBackCopies(names);
  }
  AGENTFS_ASSIGN(const auto rewritten, RewrittenSince(run));
  run.TakeForApplied(rewritten);
  // A part of what was applied may have been changed since, in the branch or another one.
  std::vector<std::string> written;
  for (const ApplyStep& step : record.steps) written.push_back(step.temp.empty() ? "" : step.path);
  AGENTFS_ASSIGN(const std::vector<std::string> kept, volume_.KeptNames(written));
  AGENTFS_TRY(run.KeepApplied(kept));
  AGENTFS_TRY(run.Undo(ApplyState::kReverting));
  return FinishUndo(run);
}

Result<void> Applier::FinishUndo(ApplyRun& run) {
  const ApplyRecord& record = run.record();
  AGENTFS_TRY(NoteApply(layout_, HistoryEvent::Kind::kApplyUndone, ToNanoseconds(Now()),
                        record.branch, record.snapshot, record.settle.size()));
  auto given = GiveChangesBack(record);
  AGENTFS_TRY(run.Remove());
  if (given.ok()) return volume_.Flush(Durability::kSynced);
  return given.error().WithContext("the base is as before, but the branch has not all its changes");
}

// Where the branch has done nothing else since, it has again what it had before the apply.
Result<void> Applier::GiveChangesBack(const ApplyRecord& record) {
  for (const MovedBase& each : record.moved) {
    if (each.identity != 0) AGENTFS_TRY(volume_.BaseMovedBack(each.identity, each.from));
  }
  if (!HasSnapshot(volume_, record.snapshot)) return Ok();
  AGENTFS_ASSIGN(const auto now, FindChanges(volume_, "base", record.branch, ChangeScope::kAll));
  AGENTFS_ASSIGN(const auto since,
                 FindChanges(volume_, record.snapshot, record.branch, ChangeScope::kAll));
  absl::flat_hash_set<std::string_view> done;
  for (const PathChange& change : since) {
    done.insert(change.path);
    done.insert(change.old_path);
  }
  // Directories that were given back stay in the branch when the base loses them; files that were
  // in use are what they were.
  const absl::flat_hash_set<std::string> settled(record.settle.begin(), record.settle.end());
  absl::flat_hash_set<std::string> others;
  for (const PathChange& change : now) {
    if (S_ISDIR(change.attr().mode) && settled.contains(change.path)) continue;
    if (!done.contains(change.path)) continue;
    others.insert(change.path);
    others.insert(change.old_path);
  }
  if (record.whole && others.empty()) {
    AGENTFS_TRY(restore_ ? restore_(record.branch, record.snapshot)
                         : volume_.Restore(record.branch, record.snapshot));
  } else {
    std::vector<std::string> paths;
    for (const std::string& path : record.settle) {
      if (!others.contains(path)) paths.push_back(path);
    }
    if (!paths.empty()) {
      AGENTFS_TRY(RestorePaths(volume_, record.branch, record.snapshot, paths, forget_));
    }
  }
  return volume_.FollowBase(record.branch, SettledPaths(record), FollowMode::kAccept);
}

}  // namespace agentfs
