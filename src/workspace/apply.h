// SPDX-License-Identifier: Apache-2.0
//
// Applying a branch's changes to the base (docs/design/apply.md).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "workspace/apply_run.h"
#include "workspace/changes.h"
#include "workspace/follow_paths.h"
#include "workspace/risks.h"
#include "workspace/workspace.h"

namespace agentfs {

// A path where the base is not what the branch has seen, or that cannot be applied alone.
struct ApplyConflict {
  enum class Kind : uint8_t {
    kChanged,   // the base's file was changed
    kAppeared,  // the base has something that the branch does not know
    kVanished,  // the base's file is gone, or something else
    kOverlaps,  // both have changed the same lines
    kMoved,     // a part of what the branch has moved from `from` to `to`
  };
  Kind kind = Kind::kChanged;
  std::string path;
  std::string from = {}, to = {};

  std::string reason() const;
};

enum class OnConflict : uint8_t { kRefuse, kMerge, kOverwrite };

struct ApplyOptions {
  std::string branch;
  std::vector<std::string> paths;  // none: all of the workspace
  OnConflict on_conflict = OnConflict::kRefuse;
};

// What an apply would do. It keeps the views open that its changes refer to.
struct ApplyPlan {
  Views views;
  std::string ref;  // whose state is applied: the branch, or a snapshot of it
  std::vector<PathChange> changes;
  std::vector<StandIn> moved;  // where the branch has others than the base
  std::vector<ApplyConflict> conflicts;
  std::vector<Risk> risks;
  std::map<std::string, std::string> merged;  // by path, what both sides together make of it
};

// One workspace's applies. One thread at a time; what it is given must outlive it.
class Applier {
 public:
  // EINVAL: the workspace has no base.
  static Result<Applier> Open(Volume& volume, const Layout& layout);

  // Completes or takes back what a process that was killed has left. Every process that opens the
  // workspace does it first. True: there was something.
  static Result<bool> Recover(Volume& volume, const Layout& layout);

  // What applying `ref` (the branch or a snapshot of it) would do. Changes nothing.
  Result<ApplyPlan> Plan(const std::string& ref, const ApplyOptions& options);
  // Does it: all or nothing. Afterwards the branch has no difference at these paths. `plan.ref` is
  // a snapshot that was taken of the branch for it, whose conflicts the caller has looked at.
  enum class Extent : bool { kPaths, kWhole };
  Result<void> Apply(const ApplyPlan& plan, const std::string& branch, Extent extent);

  // What the last apply did, if it can be taken back.
  Result<std::optional<ApplyRecord>> Last();
  // The paths where that would lose what was done since.
  Result<std::vector<std::string>> ChangedSinceLast();
  // Takes it back; the branch has its changes again where it has made no other since.
  Result<void> UndoLast();

  // How a branch is made what a snapshot was, if mounts have to know of it.
  using Restorer = std::function<Result<void>(const std::string& branch, const std::string& ref)>;
  void SetRestorer(Restorer restore) { restore_ = std::move(restore); }
  // For what mounts remember of applied files.
  void SetForgetter(NamesForgetter forget) { forget_ = std::move(forget); }
  // Told of each step; for progress, and for tests that end the process there.
  void SetHook(ApplyHook hook) { hook_ = std::move(hook); }

 private:
  Applier(Volume& volume, const Layout& layout) : volume_(volume), layout_(layout) {}
  Result<HostTree> OpenBase() const;
  Result<ApplyRun> OpenRun(const std::string& name) const;
  Result<void> NameKept(ApplyRecord& record);
  Result<void> NameMoved(const ApplyPlan& plan, ApplyRecord& record);
  Result<void> TakeBack(ApplyRun& run);
  // The paths that were written since, with what was applied.
  Result<std::vector<std::string>> RewrittenSince(ApplyRun& run);
  Result<void> Finish(ApplyRun& run);
  Result<void> Revert(ApplyRun& run);
  Result<void> FinishUndo(ApplyRun& run);
  Result<void> Settle(const ApplyRecord& record);
  Result<void> GiveChangesBack(const ApplyRecord& record);

  Volume& volume_;
  const Layout& layout_;
  ApplyHook hook_;
  Restorer restore_;
  NamesForgetter forget_;
};

}  // namespace agentfs
