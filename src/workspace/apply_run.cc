// SPDX-License-Identifier: Apache-2.0
#include "workspace/apply_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

namespace agentfs {
namespace {

using StepKind = ApplyStep::Kind;

constexpr std::array<std::string_view, 5> kStateNames = {"staging", "committing", "settling",
                                                         "undoing", "reverting"};
// Past this many steps one sync of the filesystem is cheaper than many of files.
constexpr size_t kSyncsSingly = 32;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

// Complete or as it was, whatever happens.
Result<void> WriteDurably(const std::string& path, std::string_view content) {
  {
    AGENTFS_ASSIGN(const Fd fd,
                   OpenAt(AT_FDCWD, path + ".new", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    AGENTFS_TRY(WriteAt(fd.get(), 0, content));
    AGENTFS_TRY(SyncFd(fd.get()));
  }
  if (::rename((path + ".new").c_str(), path.c_str()) != 0) return ErrnoError();
  AGENTFS_ASSIGN(const Fd directory, OpenAt(AT_FDCWD, std::filesystem::path(path).parent_path(),
                                            O_RDONLY | O_DIRECTORY));
  return SyncFd(directory.get());
}

Result<std::string> ReadAll(const std::string& path) {
  AGENTFS_ASSIGN(const Fd fd, OpenAt(AT_FDCWD, path, O_RDONLY));
  AGENTFS_ASSIGN(const struct stat st, StatFd(fd.get()));
  std::string content(static_cast<size_t>(st.st_size), '\0');
  AGENTFS_ASSIGN(const size_t got, ReadAt(fd.get(), 0, content));
  content.resize(got);
  return content;
}

// Also if what was or will be a directory on the way is a link now: nothing follows that.
bool IsAbsent(int code) { return code == ENOENT || code == ENOTDIR || code == ELOOP; }

// There is nothing to do if it is not there any more.
Result<void> UnlessGone(Result<void> result) { return IsAbsent(result.code()) ? Ok() : result; }

// A copy that is complete or not there, also in place of what is there.
Result<void> CopyWhole(const HostTree& from_tree, const std::string& from, const HostTree& to_tree,
                       const std::string& to) {
  const std::string part = to + ".agentfs-part";
  (void)to_tree.Unlink(part);
  AGENTFS_TRY(from_tree.Copy(from, to_tree, part));
  return to_tree.Rename(part, to_tree, to, HostTree::Replace::kYes);
}

Result<std::optional<struct stat>> Look(const HostTree& tree, const std::string& path) {
  auto st = tree.Stat(path);
  if (st.code() == ELOOP) return std::optional<struct stat>();
  return st;
}

Result<bool> Exists(const HostTree& tree, const std::string& path) {
  AGENTFS_ASSIGN(const auto st, Look(tree, path));
  return st.has_value();
}

}  // namespace

// ---- the journal

Result<void> ApplyRun::WriteState(ApplyState state) {
  return WriteDurably(directory_ + "/state", kStateNames[static_cast<size_t>(state)]);
}

Result<void> ApplyRun::OpenBackups() {
  AGENTFS_ASSIGN(HostTree backups, HostTree::Open(directory_ + "/files"));
  backups_.emplace(std::move(backups));
  return Ok();
}

Result<void> ApplyRun::OpenKept() {
  const bool needed = std::any_of(record_.steps.begin(), record_.steps.end(),
                                  [](const ApplyStep& step) { return !step.keep.empty(); });
  return needed ? MakeKept() : Ok();
}

Result<void> ApplyRun::MakeKept() {
  std::error_code error;
  std::filesystem::create_directories(kept_directory_, error);
  if (error) return Error(error.value()).WithContext("cannot make " + kept_directory_);
  AGENTFS_ASSIGN(HostTree kept, HostTree::Open(kept_directory_));
  kept_.emplace(std::move(kept));
  return Ok();
}

Result<ApplyState> ApplyRun::Load() {
  Result<std::string> state = ReadAll(directory_ + "/state");
  Result<std::string> plan = ReadAll(directory_ + "/plan");
  // Killed before anything was staged.
  if (state.code() == ENOENT || plan.code() == ENOENT) return ApplyState::kStaging;
  if (!state.ok()) return state.error();
  if (!plan.ok()) return plan.error();
  AGENTFS_ASSIGN(record_, DecodeRecord(*plan));
  AGENTFS_TRY(OpenBackups());
  AGENTFS_TRY(OpenKept());
  for (size_t i = 0; i < kStateNames.size(); ++i) {
    if (*state == kStateNames[i]) return static_cast<ApplyState>(i);
  }
  return Error(EBADMSG, directory_ + "/state: the journal of an apply is damaged");
}

Result<void> ApplyRun::Remove() {
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
  if (error) return Error(error.value()).WithContext("cannot remove " + directory_);
  return Ok();
}

Result<void> ApplyRun::SyncBase() {
  std::set<std::string> directories;
  for (const ApplyStep& step : record_.steps) {
    directories.insert(ParentOf(step.path));
    if (step.kind == StepKind::kMove) directories.insert(ParentOf(step.other));
    if (step.kind == StepKind::kRenew) directories.insert(step.path);
  }
  std::set<dev_t> synced;
  for (const std::string& path : directories) {
    const Result<Fd> directory = base_.OpenDirectory(path);
    // One that was removed, or is none yet, is synced with its parent.
    if (IsAbsent(directory.code())) continue;
    if (!directory.ok()) return directory.error();
    AGENTFS_ASSIGN(const struct stat st, StatFd(directory->get()));
    if (record_.steps.size() <= kSyncsSingly) {
      AGENTFS_TRY(SyncFd(directory->get()));
    } else if (synced.insert(st.st_dev).second) {
      AGENTFS_TRY(SyncFileSystemOf(directory->get()));
    }
  }
  return Ok();
}

// ---- staging

Result<void> ApplyRun::Stage(ApplyRecord record, ApplySource& source) {
  record_ = std::move(record);
  AGENTFS_TRY(Remove());
  std::error_code error;
  std::filesystem::create_directories(directory_ + "/files", error);
  if (error) return Error(error.value()).WithContext("cannot make " + directory_);
  auto stage = [&]() -> Result<void> {
    AGENTFS_TRY(OpenBackups());
    AGENTFS_TRY(OpenKept());
    // The names of what will be staged first, so that whoever comes after a crash can remove it.
    AGENTFS_TRY(WriteDurably(directory_ + "/plan", EncodeRecord(record_)));
    AGENTFS_TRY(WriteState(ApplyState::kStaging));
    size_t done = 0;
    for (ApplyStep& step : record_.steps) {
      Tell(done++);
      auto staged = StageStep(step, source);
      if (!staged.ok()) return staged.error().WithContext("cannot stage /" + step.path);
    }
    AGENTFS_TRY(SyncBase());
    AGENTFS_TRY(WriteDurably(directory_ + "/plan", EncodeRecord(record_)));
    return WriteState(ApplyState::kCommitting);
  };
  auto staged = stage();
  if (staged.ok()) return Ok();
  AGENTFS_TRY(Undo());
  AGENTFS_TRY(Remove());
  return staged;
}

Result<void> ApplyRun::StageStep(ApplyStep& step, ApplySource& source) {
  if (step.temp.empty()) return Ok();
  if (step.kind == StepKind::kRenew) {
    AGENTFS_ASSIGN(const auto there, base_.Stat(step.path));
    step.inode = there ? there->st_ino : 0;
    return Ok();
  }
  if (!step.other.empty()) {
    AGENTFS_TRY(base_.Link(step.other, base_, step.temp));
  } else if (S_ISREG(step.after.mode)) {
    AGENTFS_TRY(StageFile(step, source));
  } else if (S_ISLNK(step.after.mode)) {
    AGENTFS_ASSIGN(const std::string target, source.Target(step));
    AGENTFS_TRY(base_.MakeSymlink(target, step.temp));
  } else {
    AGENTFS_TRY(base_.MakeNode(step.temp, step.after.mode, source.Device(step)));
  }
  if (step.other.empty()) AGENTFS_TRY(base_.SetAttributes(step.temp, step.after));
  AGENTFS_ASSIGN(const auto st, base_.Stat(step.temp));
  if (!st) return Error(ENOENT, "what was staged has vanished");
  step.inode = st->st_ino;
  step.size = static_cast<uint64_t>(st->st_size);
  return Ok();
}

Result<void> ApplyRun::StageFile(ApplyStep& step, ApplySource& source) {
  AGENTFS_ASSIGN(const Fd file, base_.CreateFile(step.temp));
  uint64_t size = 0;
  AGENTFS_TRY(source.Read(step, &size, [&](uint64_t at, std::string_view data) {
    return WriteAt(file.get(), at, data);
  }));
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return ErrnoError();
  return record_.steps.size() <= kSyncsSingly ? SyncFd(file.get()) : Ok();
}

// ---- there

Result<void> ApplyRun::Commit() {
  for (size_t i = 0; i < record_.steps.size(); ++i) {
    Tell(i);
    auto done = Do(i);
    if (!done.ok()) return done.error().WithContext("cannot apply /" + record_.steps[i].path);
  }
  // Directories get their modes and times last: what was put into them has changed these.
  for (size_t i = record_.steps.size(); i-- > 0;) {
    const ApplyStep& step = record_.steps[i];
    if (step.kind == StepKind::kMakeDirectory) {
      AGENTFS_TRY(base_.SetAttributes(step.path, step.after));
    }
  }
  AGENTFS_TRY(SyncBase());
  return WriteState(ApplyState::kSettling);
}

Result<void> ApplyRun::Do(size_t index) {
  const ApplyStep& step = record_.steps[index];
  switch (step.kind) {
    case StepKind::kRemove:
      return DoRemove(step, BackupOf(index));
    case StepKind::kMakeDirectory: {
      Result<void> made = base_.MakeDirectory(step.path);
      return made.code() == EEXIST ? Ok() : made;
    }
    case StepKind::kMove:
      return DoMove(step);
    case StepKind::kRemoveDirectory:
      return UnlessGone(base_.RemoveDirectory(step.path));
    case StepKind::kWrite:
    case StepKind::kOverwrite:
      return DoWrite(step, BackupOf(index));
    case StepKind::kSetAttributes:
      return base_.SetAttributes(step.path, step.after);
    case StepKind::kRenew:
      return DoRenew(step);
  }
  return Error(EBADMSG);
}

Result<void> ApplyRun::DoRemove(const ApplyStep& step, const std::string& backup) {
  AGENTFS_ASSIGN(const bool saved, Exists(*backups_, backup));
  if (!saved) {
    AGENTFS_TRY(Keep(step, base_, step.path));
    Result<void> moved = base_.Rename(step.path, *backups_, backup, HostTree::Replace::kNo);
    if (moved.code() != EXDEV) return UnlessGone(moved);
    // The state directory is on another filesystem.
    AGENTFS_TRY(CopyWhole(base_, step.path, *backups_, backup));
  }
  AGENTFS_TRY(Keep(step, *backups_, backup));
  AGENTFS_ASSIGN(const auto there, Look(base_, step.path));
  if (there && S_ISDIR(there->st_mode)) return Ok();  // which has come in its place
  return UnlessGone(base_.Unlink(step.path));
}

Result<void> ApplyRun::DoWrite(const ApplyStep& step, const std::string& backup) {
  AGENTFS_ASSIGN(const bool staged, Exists(base_, step.temp));
  if (!staged) return Ok();  // done before
  AGENTFS_ASSIGN(const bool saved, Exists(*backups_, backup));
  AGENTFS_ASSIGN(const bool there, Exists(base_, step.path));
  if (there && !saved) {
    Result<void> linked = step.kind == StepKind::kWrite
                              ? base_.Link(step.path, *backups_, backup)
                              : Result<void>(Error(EXDEV));  // which needs a copy
    if (linked.code() == EXDEV || linked.code() == EPERM || linked.code() == EMLINK) {
      linked = CopyWhole(base_, step.path, *backups_, backup);
    }
    AGENTFS_TRY(linked);
  }
  AGENTFS_TRY(Keep(step, *backups_, backup));
  if (step.kind == StepKind::kWrite) {
    // rename(2) does nothing if both are names of one file.
    AGENTFS_TRY(base_.Rename(step.temp, base_, step.path, HostTree::Replace::kYes));
    return UnlessGone(base_.Unlink(step.temp));
  }
  AGENTFS_TRY(base_.Overwrite(step.path, base_, step.temp));
  return base_.Unlink(step.temp);
}

Result<void> ApplyRun::Keep(const ApplyStep& step, const HostTree& tree, const std::string& path) {
  if (step.keep.empty()) return Ok();
  AGENTFS_ASSIGN(const auto st, tree.Stat(path));
  // What the base goes on calling by further names may be written to.
  const nlink_t own_names = &tree == &base_ ? 1 : 2;
  AGENTFS_ASSIGN(const bool kept, Exists(*kept_, step.keep));
  if (st && st->st_nlink > own_names) {
    return kept ? Ok() : CopyWhole(tree, path, *kept_, step.keep);
  }
  const Result<void> linked = tree.Link(path, *kept_, step.keep);
  switch (linked.code()) {
    case EEXIST:  // done before
    case ENOENT:  // removed: its backup is linked
    case EXDEV:   // the backup will be a copy, to be linked
      return Ok();
    case EPERM:
    case EMLINK:
      return CopyWhole(tree, path, *kept_, step.keep);
    default:
      return linked;
  }
}

Result<void> ApplyRun::KeepApplied(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    if (!kept_) AGENTFS_TRY(MakeKept());
    const ApplyStep& step = record_.steps[i];
    AGENTFS_ASSIGN(const bool kept, Exists(*kept_, names[i]));
    AGENTFS_ASSIGN(const auto st, Look(base_, step.path));
    if (kept || !st) continue;
    // One that is overwritten, or goes on having other names, is no longer what it was.
    const bool stays = step.kind == StepKind::kOverwrite || st->st_nlink > 1;
    if (!stays && base_.Link(step.path, *kept_, names[i]).ok()) continue;
    AGENTFS_TRY(CopyWhole(base_, step.path, *kept_, names[i]));
  }
  return Ok();
}

Result<void> ApplyRun::DoMove(const ApplyStep& step) {
  AGENTFS_ASSIGN(const bool there, Exists(base_, step.other));
  if (there) {
    AGENTFS_TRY(base_.Rename(step.other, base_, step.path, HostTree::Replace::kNo));
  }
  return base_.SetAttributes(step.path, step.after);
}

// One that cannot be made anew (something is mounted there, it is somebody else's) has all that it
// must have: only snapshots are the worse for it.
Result<void> ApplyRun::DoRenew(const ApplyStep& step) {
  AGENTFS_ASSIGN(const auto there, Look(base_, step.path));
  if (!there || there->st_ino != step.inode) return Ok();  // done before
  const auto renewed = S_ISDIR(there->st_mode) ? RenewDirectory(step) : RenewFile(step);
  return renewed.ok() ? Ok() : TakeBackRenewal(step);
}

Result<void> ApplyRun::RenewFile(const ApplyStep& step) {
  AGENTFS_TRY(UnlessGone(base_.Unlink(step.temp)));
  AGENTFS_TRY(base_.Copy(step.path, base_, step.temp));
  AGENTFS_ASSIGN(const auto copied, base_.Stat(step.temp));
  if (copied && S_ISREG(copied->st_mode)) {
    AGENTFS_ASSIGN(const Fd file, base_.OpenFile(step.temp, O_RDONLY));
    AGENTFS_TRY(SyncFd(file.get()));
  }
  AGENTFS_TRY(Keep(step, base_, step.path));
  return base_.Rename(step.temp, base_, step.path, HostTree::Replace::kYes);
}

Result<void> ApplyRun::RenewDirectory(const ApplyStep& step) {
  AGENTFS_ASSIGN(const HostAttributes attributes, base_.GetAttributes(step.path));
  const Result<void> made = base_.MakeDirectory(step.temp);
  if (!made.ok() && made.code() != EEXIST) return made;
  AGENTFS_TRY(MoveNames(step.path, step.temp));
  AGENTFS_TRY(base_.SetAttributes(step.temp, attributes));
  return base_.Rename(step.temp, base_, step.path, HostTree::Replace::kYes);
}

Result<void> ApplyRun::MoveNames(const std::string& from, const std::string& to) {
  AGENTFS_ASSIGN(const std::vector<std::string> names, base_.List(from));
  for (const std::string& name : names) {
    AGENTFS_TRY(base_.Rename(from + "/" + name, base_, to + "/" + name, HostTree::Replace::kNo));
  }
  return Ok();
}

// ---- and back

Result<void> ApplyRun::Undo(ApplyState state) {
  if (backups_) AGENTFS_TRY(WriteState(state));
  for (size_t i = record_.steps.size(); i-- > 0;) {
    Tell(i);
    auto taken = TakeBack(i);
    if (!taken.ok()) {
      return taken.error().WithContext("cannot take back /" + record_.steps[i].path);
    }
  }
  for (const DirectoryTimes& each : record_.directories) {
    Result<HostAttributes> attributes = base_.GetAttributes(each.path);
    if (attributes.code() == ENOENT) continue;
    if (!attributes.ok()) return attributes.error();
    attributes->atime = each.atime;
    attributes->mtime = each.mtime;
    const Result<void> given = Reset(each.path, *attributes);
    if (!given.ok() && given.code() != EPERM) return given;  // somebody else's, who lets us write
  }
  return SyncBase();
}

// What is so already is left alone: where nothing could be changed, nothing has to be taken back.
Result<void> ApplyRun::Reset(const std::string& path, const HostAttributes& attributes) {
  const Result<HostAttributes> now = base_.GetAttributes(path);
  if (IsAbsent(now.code())) return Ok();
  if (!now.ok()) return now.error();
  const bool same = now->mode == attributes.mode && now->uid == attributes.uid &&
                    now->gid == attributes.gid && now->mtime == attributes.mtime &&
                    now->xattrs == attributes.xattrs;
  return same ? Ok() : base_.SetAttributes(path, attributes);
}

Result<void> ApplyRun::TakeBack(size_t index) {
  const ApplyStep& step = record_.steps[index];
  switch (step.kind) {
    case StepKind::kRemove:
      AGENTFS_TRY(KeepApart(step, BackupOf(index)));
      return GiveBack(BackupOf(index), step.path);
    case StepKind::kMakeDirectory: {
      AGENTFS_ASSIGN(const bool there, Exists(base_, step.path));
      if (step.replaces || !there) return Ok();
      // What somebody has put into it since stays.
      Result<void> removed = UnlessGone(base_.RemoveDirectory(step.path));
      return removed.code() == ENOTEMPTY || removed.code() == ENOTDIR ? Ok() : removed;
    }
    case StepKind::kMove:
      return TakeBackMove(step);
    case StepKind::kRemoveDirectory:
      return TakeBackDirectory(step);
    case StepKind::kWrite:
    case StepKind::kOverwrite:
      return TakeBackWrite(step, BackupOf(index));
    case StepKind::kSetAttributes:
      return Reset(step.path, step.before);
    case StepKind::kRenew:
      return TakeBackRenewal(step);
  }
  return Error(EBADMSG);
}

Result<void> ApplyRun::KeepApart(const ApplyStep& step, const std::string& backup) {
  if (step.keep.empty() || !kept_) return Ok();
  AGENTFS_ASSIGN(const auto kept, kept_->Stat(step.keep));
  if (!kept || kept->st_nlink == 1) return Ok();
  AGENTFS_ASSIGN(const bool saved, Exists(*backups_, backup));
  auto copied = saved ? CopyWhole(*backups_, backup, *kept_, step.keep)
                      : CopyWhole(base_, step.path, *kept_, step.keep);
  // The base comes before what snapshots can show of it.
  return copied.ok() ? Ok() : UnlessGone(kept_->Unlink(step.keep));
}

Result<void> ApplyRun::GiveBack(const std::string& backup, const std::string& path) {
  AGENTFS_ASSIGN(const auto saved, backups_->Stat(backup));
  if (!saved) return Ok();
  // One with further names is known by those all the same.
  const bool copy = copied_.contains(path) && saved->st_nlink == 1;
  Result<void> moved = copy ? Result<void>(Error(EXDEV))
                            : backups_->Rename(backup, base_, path, HostTree::Replace::kYes);
  if (moved.code() != EXDEV) {
    AGENTFS_TRY(moved);
    return UnlessGone(backups_->Unlink(backup));  // both were names of one file
  }
  AGENTFS_TRY(CopyWhole(*backups_, backup, base_, path));
  return backups_->Unlink(backup);
}

Result<void> ApplyRun::TakeBackWrite(const ApplyStep& step, const std::string& backup) {
  AGENTFS_ASSIGN(const bool staged, Exists(base_, step.temp));
  AGENTFS_ASSIGN(const bool saved, backups_ ? Exists(*backups_, backup) : Result<bool>(false));
  if (saved && step.kind == StepKind::kOverwrite) {
    AGENTFS_TRY(base_.Overwrite(step.path, *backups_, backup));
    AGENTFS_TRY(backups_->Unlink(backup));
  } else if (saved) {
    AGENTFS_TRY(KeepApart(step, backup));
    AGENTFS_TRY(GiveBack(backup, step.path));
  } else if (!staged && !step.replaces && step.inode != 0) {
    AGENTFS_ASSIGN(const auto st, Look(base_, step.path));
    // Its number may be another file's by now, if this is the second try.
    const bool same_type = st && ((st->st_mode ^ step.after.mode) & S_IFMT) == 0;
    const bool ours = same_type && (st->st_ino == step.inode || applied_.contains(step.path));
    if (ours) AGENTFS_TRY(base_.Unlink(step.path));
  }
  return staged ? UnlessGone(base_.Unlink(step.temp)) : Ok();
}

Result<void> ApplyRun::TakeBackMove(const ApplyStep& step) {
  AGENTFS_ASSIGN(const bool back, Exists(base_, step.other));
  AGENTFS_ASSIGN(const bool there, Exists(base_, step.path));
  if (back || !there) return Ok();
  AGENTFS_TRY(base_.Rename(step.path, base_, step.other, HostTree::Replace::kNo));
  return base_.SetAttributes(step.other, step.before);
}

Result<void> ApplyRun::TakeBackDirectory(const ApplyStep& step) {
  Result<void> made = base_.MakeDirectory(step.path);
  if (!made.ok() && made.code() != EEXIST) return made;
  return Reset(step.path, step.before);
}

// Half done it leaves names in both; done, it leaves nothing to take back.
Result<void> ApplyRun::TakeBackRenewal(const ApplyStep& step) {
  AGENTFS_ASSIGN(const auto begun, Look(base_, step.temp));
  if (!begun) return Ok();
  if (!S_ISDIR(begun->st_mode)) return base_.Unlink(step.temp);
  AGENTFS_ASSIGN(const HostAttributes attributes, base_.GetAttributes(step.path));
  AGENTFS_TRY(MoveNames(step.temp, step.path));
  AGENTFS_TRY(base_.RemoveDirectory(step.temp));
  return Reset(step.path, attributes);
}

Result<std::vector<std::string>> ApplyRun::ChangedSince() {
  std::vector<std::string> changed;
  std::set<std::string> arrived;  // also where something else went
  for (const ApplyStep& step : record_.steps) {
    const bool goes = step.kind == StepKind::kRemove || step.kind == StepKind::kRemoveDirectory;
    if (!goes) arrived.insert(step.path);
  }
  for (const ApplyStep& step : record_.steps) {
    AGENTFS_ASSIGN(const auto st, Look(base_, step.path));
    bool same = true;
    if (step.kind == StepKind::kWrite) {
      same = st && st->st_ino == step.inode && static_cast<uint64_t>(st->st_size) == step.size &&
             st->st_mtim.tv_sec == step.after.mtime.sec &&
             static_cast<uint32_t>(st->st_mtim.tv_nsec) == step.after.mtime.nsec;
    } else if (step.kind == StepKind::kRemove) {
      same = !st || arrived.contains(step.path);
    } else if (step.kind == StepKind::kMove) {
      AGENTFS_ASSIGN(const bool back, Exists(base_, step.other));
      same = st && !back;
    }
    if (!same) changed.push_back("/" + step.path);
  }
  return changed;
}

}  // namespace agentfs
