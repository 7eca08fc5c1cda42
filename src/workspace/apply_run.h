// SPDX-License-Identifier: Apache-2.0
//
// Doing and undoing the steps of an apply, so that a crash at any point leaves something that the
// next command completes or takes back (docs/design/apply.md).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "sys/host_tree.h"
#include "workspace/apply_step.h"

namespace agentfs {

// What an apply that is under way has reached.
enum class ApplyState : uint8_t {
  kStaging,     // nothing has changed: it is taken back
  kCommitting,  // everything is staged: it is completed
  kSettling,    // the base has everything: only the branch is left to do
  kUndoing,     // it is being taken back, because it failed
  kReverting,   // it is being taken back, because somebody wants so
};

// Told of each step, before and after; tests end the process there.
using ApplyHook = std::function<void(size_t done, size_t all)>;

// Gives what is to be staged for a step: its content, in pieces with their offsets, or the target
// of a link.
class ApplySource {
 public:
  virtual ~ApplySource() = default;
  virtual Result<void> Read(
      const ApplyStep& step, uint64_t* size,
      const std::function<Result<void>(uint64_t, std::string_view)>& take) = 0;
  virtual Result<std::string> Target(const ApplyStep& step) = 0;
  virtual uint64_t Device(const ApplyStep& step) = 0;
};

// One apply in its directory below the state directory. One thread.
class ApplyRun {
 public:
  // `directory` holds, or will hold, the journal and the backups; `kept` what layers still need.
  // Both are made when they are needed, on one filesystem.
  ApplyRun(HostTree base, std::string directory, std::string kept, ApplyHook hook)
      : base_(std::move(base)),
        directory_(std::move(directory)),
        kept_directory_(std::move(kept)),
        hook_(std::move(hook)) {}

  // Writes the journal and stages everything; then the state is kCommitting. On error everything is
  // as before, and the directory is gone.
  Result<void> Stage(ApplyRecord record, ApplySource& source);
  // Reads the journal of an earlier process.
  Result<ApplyState> Load();

  const ApplyRecord& record() const { return record_; }
  // Does all steps that are not done. If one fails, the caller has to undo.
  Result<void> Commit();
  // Of files removed from these paths Undo is to give back copies, not the files themselves.
  void GiveBackCopies(const std::vector<std::string>& paths) {
    copied_.insert(paths.begin(), paths.end());
  }
  // What Undo will take from the base of what was applied can be found by layers, step by step
  // under these names (Volume::KeptNames); "" where none needs it.
  Result<void> KeepApplied(const std::vector<std::string>& names);
  // Undo is to remove new files from these paths ("/a"), though they are others by now.
  void TakeForApplied(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) applied_.insert(path.substr(1));
  }
  // Takes back all steps that are done; `state` says why.
  Result<void> Undo(ApplyState state = ApplyState::kUndoing);
  // The paths that were changed after they were applied, so that undoing would lose it.
  Result<std::vector<std::string>> ChangedSince();
  // The journal goes, and the backups.
  Result<void> Remove();

 private:
  std::string BackupOf(size_t index) const { return std::to_string(index); }
  Result<void> WriteState(ApplyState state);
  Result<void> OpenBackups();
  Result<void> StageStep(ApplyStep& step, ApplySource& source);
  Result<void> StageFile(ApplyStep& step, ApplySource& source);
  Result<void> Do(size_t index);
  Result<void> DoRemove(const ApplyStep& step, const std::string& backup);
  Result<void> DoWrite(const ApplyStep& step, const std::string& backup);
  Result<void> DoMove(const ApplyStep& step);
  Result<void> DoRenew(const ApplyStep& step);
  Result<void> RenewFile(const ApplyStep& step);
  Result<void> RenewDirectory(const ApplyStep& step);
  Result<void> TakeBack(size_t index);
  Result<void> TakeBackWrite(const ApplyStep& step, const std::string& backup);
  Result<void> TakeBackMove(const ApplyStep& step);
  Result<void> TakeBackDirectory(const ApplyStep& step);
  Result<void> TakeBackRenewal(const ApplyStep& step);
  Result<void> MoveNames(const std::string& from, const std::string& to);
  Result<void> Reset(const std::string& path, const HostAttributes& attributes);
  Result<void> GiveBack(const std::string& backup, const std::string& path);
  // The step's former file can be found by layers; it has its backup, or is still in its place.
  Result<void> Keep(const ApplyStep& step, const HostTree& tree, const std::string& path);
  // What is kept of it becomes a file of its own: the backup is about to be the base's again.
  Result<void> KeepApart(const ApplyStep& step, const std::string& backup);
  Result<void> OpenKept();
  Result<void> MakeKept();
  Result<void> SyncBase();
  void Tell(size_t done) const {
    if (hook_) hook_(done, record_.steps.size());
  }

  HostTree base_;
  const std::string directory_, kept_directory_;
  const ApplyHook hook_;
  ApplyRecord record_;
  std::optional<HostTree> backups_, kept_;
  std::set<std::string> copied_, applied_;
};

}  // namespace agentfs
