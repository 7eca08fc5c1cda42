// SPDX-License-Identifier: Apache-2.0
#include "workspace/apply_steps.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "base/clock.h"
#include "workspace/file_content.h"

namespace agentfs {
namespace {

using StepKind = ApplyStep::Kind;

std::string DirectoryPart(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

class StepMaker {
 public:
  StepMaker(const ApplyPlan& plan, const HostTree& base) : plan_(plan), base_(base) {}

  Result<ApplyRecord> Run();

 private:
  Result<void> Add(const PathChange& change);
  Result<void> AddRemoval(const PathChange& change, const std::string& path);
  Result<void> AddArrival(const PathChange& change);
  Result<void> AddWrite(const PathChange& change, bool replaces);
  Result<void> AddRename(const PathChange& change);
  Result<void> AddAttributes(const PathChange& change);
  Result<void> AddRenewals();
  Result<bool> LinkToKnown(const PathChange& change, ApplyStep& step);
  Result<HostAttributes> After(const PathChange& change);
  // Where what will be at `path` can be staged: the nearest directory above that is there and
  // stays.
  Result<std::string> StagingPath(const std::string& path);
  // What is at `path` and not below a file or link that goes.
  Result<std::optional<struct stat>> StatStaying(const std::string& path);
  Result<bool> OnOneFilesystem(const std::string& from, const std::string& to);
  Result<std::string> StayingDirectory(const std::string& path);
  Result<void> NoteDirectories();
  void Sort();

  const ApplyPlan& plan_;
  const HostTree& base_;
  const std::string id_ = fmt::format("{:x}-{:x}", ::getpid(), ToNanoseconds(Now()));
  ApplyRecord record_;
  absl::flat_hash_set<std::string> removed_directories_;
  absl::flat_hash_set<std::string> removed_files_;  // in whose place directories come
  // What a file with several names was staged as, or is in the base, by its node.
  absl::flat_hash_map<NodeId, std::string> linkable_;
  absl::flat_hash_set<NodeId> overwritten_;
  absl::flat_hash_set<NodeId> restyled_;  // files of the base that get the branch's attributes
};

Result<ApplyRecord> StepMaker::Run() {
  for (const PathChange& change : plan_.changes) {
    if (!change.before.node) continue;
    if (!S_ISDIR(change.before.attr.mode)) {
      if (change.type_changed()) removed_files_.insert(change.path.substr(1));
      continue;
    }
    const bool stays = change.kind == PathChange::Kind::kModified && !change.type_changed();
    const std::string& path = change.old_path.empty() ? change.path : change.old_path;
    if (!stays) removed_directories_.insert(path.substr(1));
  }
  // Other names, then new ones last: what they are further names of is known by then.
  const auto turn = [](PathChange::Kind kind) {
    if (kind == PathChange::Kind::kAdded) return 2;
    return kind == PathChange::Kind::kRenamed ? 1 : 0;
  };
  for (const int now : {0, 1, 2}) {
    for (const PathChange& change : plan_.changes) {
      if (turn(change.kind) != now) continue;
      auto made = Add(change);
      if (!made.ok()) return made.error().WithContext(change.path);
    }
  }
  AGENTFS_TRY(AddRenewals());
  Sort();
  AGENTFS_TRY(NoteDirectories());
  absl::flat_hash_set<NodeId> settled;
  for (const PathChange& change : plan_.changes) {
    // Further names of a file of the base have no entries: with the first they are given back.
    const bool overwritten =
        change.kind == PathChange::Kind::kModified && overwritten_.contains(change.after.attr.node);
    if (overwritten && !settled.insert(change.after.attr.node).second) continue;
    record_.settle.push_back(change.path);
    if (!change.old_path.empty()) record_.settle.push_back(change.old_path);
  }
  std::sort(record_.settle.begin(), record_.settle.end());
  for (const auto& [path, text] : plan_.merged) record_.merged.push_back(path);
  record_.snapshot = plan_.ref;
  record_.time_ns = ToNanoseconds(Now());
  return std::move(record_);
}

Result<void> StepMaker::Add(const PathChange& change) {
  switch (change.kind) {
    case PathChange::Kind::kRemoved:
      return AddRemoval(change, change.path.substr(1));
    case PathChange::Kind::kAdded:
      return AddArrival(change);
    case PathChange::Kind::kRenamed:
      return AddRename(change);
    case PathChange::Kind::kModified:
      break;
  }
  if (change.type_changed()) {
    const bool directory = S_ISDIR(change.before.attr.mode) || S_ISDIR(change.after.attr.mode);
    // A rename puts any file in the place of any other.
    if (!directory) return AddWrite(change, true);
    AGENTFS_TRY(AddRemoval(change, change.path.substr(1)));
    return AddArrival(change);
  }
  return change.content ? AddWrite(change, true) : AddAttributes(change);
}

Result<void> StepMaker::AddRemoval(const PathChange& change, const std::string& path) {
  ApplyStep step;
  step.path = path;
  step.replaces = true;
  step.kind = StepKind::kRemove;
  if (S_ISDIR(change.before.attr.mode)) {
    step.kind = StepKind::kRemoveDirectory;
    AGENTFS_ASSIGN(step.before, base_.GetAttributes(path));
  }
  record_.steps.push_back(std::move(step));
  return Ok();
}

Result<void> StepMaker::AddArrival(const PathChange& change) {
  if (!S_ISDIR(change.after.attr.mode)) return AddWrite(change, false);
  ApplyStep step;
  step.kind = StepKind::kMakeDirectory;
  step.path = change.path.substr(1);
  AGENTFS_ASSIGN(step.after, After(change));
  AGENTFS_ASSIGN(const auto there, StatStaying(step.path));
  step.replaces = there && S_ISDIR(there->st_mode);
  record_.steps.push_back(std::move(step));
  return Ok();
}

Result<void> StepMaker::AddWrite(const PathChange& change, bool replaces) {
  ApplyStep step;
  step.path = change.path.substr(1);
  step.replaces = replaces;
  const bool same = change.before.node && change.before.attr.node == change.after.attr.node;
  // It may have names outside of the base: the file itself must change, once for all of them.
  if (same && replaces && change.before.attr.nlink > 1) {
    step.kind = StepKind::kOverwrite;
    if (!overwritten_.insert(change.after.attr.node).second) return Ok();
  }
  AGENTFS_ASSIGN(step.after, After(change));
  AGENTFS_ASSIGN(step.temp, StagingPath(step.path));
  if (change.after.attr.nlink > 1 && S_ISREG(change.after.attr.mode)) {
    AGENTFS_ASSIGN(const bool linked, LinkToKnown(change, step));
    if (!linked) {
      linkable_[change.after.attr.node] = step.kind == StepKind::kOverwrite ? step.path : step.temp;
    }
  }
  record_.steps.push_back(std::move(step));
  return Ok();
}

Result<bool> StepMaker::LinkToKnown(const PathChange& change, ApplyStep& step) {
  if (auto it = linkable_.find(change.after.attr.node); it != linkable_.end()) {
    step.other = it->second;
    return true;
  }
  if (change.kind != PathChange::Kind::kAdded || !change.base_path) return false;
  // A new name of a file of the base, if that is still what the branch calls so.
  Result<NodeRef> node = plan_.views.before->GetNode(change.after.attr.node, *change.base_path);
  if (!node.ok()) return false;
  AGENTFS_ASSIGN(const Attr attr, plan_.views.before->GetAttr(**node));
  AGENTFS_ASSIGN(const bool same,
                 SameBytes(*plan_.views.before, {*node, attr}, *plan_.views.after, change.after));
  AGENTFS_ASSIGN(const bool near, OnOneFilesystem(*change.base_path, step.path));
  const bool alike = attr.mode == change.after.attr.mode || restyled_.contains(attr.node);
  if (!same || !near || !alike) return false;
  step.other = *change.base_path;
  return true;
}

Result<void> StepMaker::AddRename(const PathChange& change) {
  const std::string old_path = change.old_path.substr(1), path = change.path.substr(1);
  AGENTFS_ASSIGN(const bool near, OnOneFilesystem(old_path, path));
  const bool moves = near && !change.content && !S_ISDIR(change.after.attr.mode);
  if (!moves) {
    AGENTFS_TRY(AddRemoval(change, old_path));
    return AddArrival(change);
  }
  ApplyStep step;
  step.kind = StepKind::kMove;
  step.path = path;
  step.other = old_path;
  AGENTFS_ASSIGN(step.before, base_.GetAttributes(old_path));
  AGENTFS_ASSIGN(step.after, After(change));
  restyled_.insert(change.after.attr.node);
  record_.steps.push_back(std::move(step));
  return Ok();
}

Result<void> StepMaker::AddAttributes(const PathChange& change) {
  ApplyStep step;
  step.kind = StepKind::kSetAttributes;
  step.path = change.path.substr(1);
  step.replaces = true;
  AGENTFS_ASSIGN(step.before, base_.GetAttributes(step.path));
  AGENTFS_ASSIGN(step.after, After(change));
  // Its content is the base's own.
  step.after.atime = step.before.atime;
  step.after.mtime = step.before.mtime;
  restyled_.insert(change.after.attr.node);
  record_.steps.push_back(std::move(step));
  return Ok();
}

// Layers know files and directories by what they are in the base: one that was there cannot go on
// as another.
Result<void> StepMaker::AddRenewals() {
  for (const StandIn& each : plan_.moved) {
    if (!each.exchanged) continue;
    ApplyStep step;
    step.kind = StepKind::kRenew;
    step.path = each.path.substr(1);
    step.replaces = true;
    AGENTFS_ASSIGN(step.temp, StagingPath(step.path));
    record_.steps.push_back(std::move(step));
  }
  return Ok();
}

Result<HostAttributes> StepMaker::After(const PathChange& change) {
  const Attr& attr = change.after.attr;
  HostAttributes after{attr.mode, attr.uid, attr.gid, attr.atime, attr.mtime, {}};
  AGENTFS_ASSIGN(after.xattrs, ReadXattrs(*plan_.views.after, *change.after.node));
  return after;
}

Result<std::string> StepMaker::StayingDirectory(const std::string& path) {
  std::string directory = DirectoryPart(path);
  for (; !directory.empty(); directory = DirectoryPart(directory)) {
    if (removed_directories_.contains(directory)) continue;
    AGENTFS_ASSIGN(const auto st, StatStaying(directory));
    if (st && S_ISDIR(st->st_mode)) break;
  }
  return directory;
}

Result<std::optional<struct stat>> StepMaker::StatStaying(const std::string& path) {
  if (!removed_files_.empty()) {
    for (std::string at = DirectoryPart(path); !at.empty(); at = DirectoryPart(at)) {
      if (removed_files_.contains(at)) return std::optional<struct stat>();
    }
  }
  return base_.Stat(path);
}

Result<std::string> StepMaker::StagingPath(const std::string& path) {
  AGENTFS_ASSIGN(const std::string directory, StayingDirectory(path));
  return fmt::format("{}{}.agentfs-apply-{}-{}", directory, directory.empty() ? "" : "/", id_,
                     record_.steps.size());
}

Result<bool> StepMaker::OnOneFilesystem(const std::string& from, const std::string& to) {
  AGENTFS_ASSIGN(const auto source, base_.Stat(from));
  AGENTFS_ASSIGN(const std::string directory, StayingDirectory(to));
  AGENTFS_ASSIGN(const auto target, base_.Stat(directory));
  return source && target && source->st_dev == target->st_dev;
}

void StepMaker::Sort() {
  std::stable_sort(record_.steps.begin(), record_.steps.end(),
                   [](const ApplyStep& a, const ApplyStep& b) {
                     if (a.kind != b.kind) return a.kind < b.kind;
                     if (a.kind == StepKind::kMakeDirectory) return a.path < b.path;
                     if (a.kind == StepKind::kRemoveDirectory) return a.path > b.path;
                     return false;  // what was staged first is staged first
                   });
}

Result<void> StepMaker::NoteDirectories() {
  std::set<std::string> directories;
  for (const ApplyStep& step : record_.steps) {
    directories.insert(DirectoryPart(step.path));
    if (step.kind == StepKind::kMove) directories.insert(DirectoryPart(step.other));
    if (step.kind == StepKind::kRenew) directories.insert(step.path);
    if (!step.temp.empty()) directories.insert(DirectoryPart(step.temp));
  }
  for (const std::string& directory : directories) {
    AGENTFS_ASSIGN(const auto st, StatStaying(directory));
    if (!st || !S_ISDIR(st->st_mode)) continue;
    record_.directories.push_back(
        {directory,
         {st->st_atim.tv_sec, static_cast<uint32_t>(st->st_atim.tv_nsec)},
         {st->st_mtim.tv_sec, static_cast<uint32_t>(st->st_mtim.tv_nsec)}});
  }
  return Ok();
}

}  // namespace

Result<ApplyRecord> MakeSteps(const ApplyPlan& plan, const HostTree& base) {
  return StepMaker(plan, base).Run();
}

PlanSource::PlanSource(const ApplyPlan& plan) : plan_(plan) {
  for (const PathChange& change : plan.changes) changes_[change.path] = &change;
}

Result<void> PlanSource::Read(const ApplyStep& step, uint64_t* size,
                              const std::function<Result<void>(uint64_t, std::string_view)>& take) {
  const PathChange& change = ChangeOf(step);
  if (auto it = plan_.merged.find(change.path); it != plan_.merged.end()) {
    *size = it->second.size();
    return take(0, it->second);
  }
  *size = change.after.attr.size;
  return ReadData(*plan_.views.after, *change.after.node, *size, take);
}

Result<std::string> PlanSource::Target(const ApplyStep& step) {
  return plan_.views.after->ReadLink(Caller{}, *ChangeOf(step).after.node);
}

uint64_t PlanSource::Device(const ApplyStep& step) { return ChangeOf(step).after.attr.rdev; }

}  // namespace agentfs
