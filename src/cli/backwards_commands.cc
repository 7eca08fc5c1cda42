// SPDX-License-Identifier: Apache-2.0
//
// discard, restore, undo: back to something that was.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/change_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/path_arguments.h"
#include "cli/session.h"
#include "workspace/checkpoint.h"
#include "workspace/restore_paths.h"

namespace agentfs::cli {
namespace {

constexpr size_t kShownPaths = 40;

struct Backwards {
  std::string verb;  // "discarded", "restored", "undone"
  std::string branch, ref;
  std::vector<std::string> paths;
};

std::string OrMain(const std::string& branch) {
  return branch.empty() ? std::string(kMainBranch) : branch;
}

// What the branch was is a snapshot afterwards; the name of it.
Result<std::string> MakeBranch(Session& session, const Backwards& what) {
  if (what.paths.empty()) {
    AGENTFS_ASSIGN(const SnapshotInfo before, session.operations().Restore(what.branch, what.ref));
    return before.name;
  }
  AGENTFS_ASSIGN(const SnapshotInfo before,
                 session.operations().CreateSnapshot(
                     what.branch, "", fmt::format("before restore of paths from {}", what.ref)));
  AGENTFS_TRY(RestorePaths(session.volume(), what.branch, what.ref, what.paths,
                           session.operations().Forgetter()));
  return before.name;
}

Result<int> GoBack(Context& context, Session& session, const Backwards& what) {
  AGENTFS_TRY(RequireBranch(session.volume(), what.branch));
  AGENTFS_TRY(RequireRef(session.volume(), what.ref));
  AGENTFS_TRY(session.operations().FlushPages(what.branch));
  std::string before, text;
  nlohmann::ordered_json json;
  {
    AGENTFS_ASSIGN(const auto changes,
                   PlanRestore(session.volume(), what.branch, what.ref, what.paths));
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const PathChange* change : ListedChanges(changes)) list.push_back(ChangeJson(*change));
    json = {{"branch", what.branch},
            {"ref", what.ref},
            {"changes", list},
            {"summary", CountsJson(changes)},
            {"snapshot", nullptr}};
    text = ChangeSummary(changes, kShownPaths) + what.verb + ": " + CountsText(changes);
    if (!changes.empty()) {
      json["snapshot"] = "";
    }
  }
  if (!json["snapshot"].is_null()) {
    AGENTFS_ASSIGN(before, MakeBranch(session, what));
    json["snapshot"] = before;
    text += fmt::format("; 'agentfs restore {}{}' brings it back", before,
                        what.branch == kMainBranch ? "" : " --branch " + what.branch);
  }
  if (context.json) AGENTFS_TRY(context.PrintJson(json));
  context.Notice(text);
  return kDone;
}

Result<int> InSession(Context& context, const std::function<Result<int>(Session&)>& work) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  AGENTFS_ASSIGN(const int status, work(*session));
  AGENTFS_TRY(session->Close());
  return status;
}

Result<std::vector<std::string>> PathsOf(Context& context, Session& session, const Backwards& what,
                                         const std::vector<std::string>& arguments) {
  if (arguments.empty()) return arguments;
  AGENTFS_TRY(RequireBranch(session.volume(), what.branch));
  AGENTFS_TRY(RequireRef(session.volume(), what.ref));
  AGENTFS_ASSIGN(const Views views, OpenViews(session.volume(), what.ref, what.branch));
  AGENTFS_ASSIGN(const auto paths,
                 PathsInAndOut(context, session.workspace().layout, views, arguments));
  AGENTFS_TRY(RequirePaths(context, views, paths, what.ref + " nor in branch " + what.branch));
  return paths;
}

// The newest checkpoint behind the branch that it is not the same as: so that a second undo goes
// further back, and a third does not return to what the first has left.
Result<std::string> WhatToUndoTo(Session& session, const std::string& branch) {
  auto snapshots = session.volume().ListSnapshots();
  bool any = false;
  for (auto it = snapshots.rbegin(); it != snapshots.rend(); ++it) {
    if (it->branch != branch || !IsCheckpoint(*it)) continue;
    any = true;
    AGENTFS_ASSIGN(const Touched since, session.volume().TouchedBetween(it->name, branch));
    if (!since.one_line) continue;
    AGENTFS_ASSIGN(const auto changes,
                   FindChanges(session.volume(), it->name, branch, ChangeScope::kAll));
    if (!changes.empty()) return it->name;
  }
  if (any)
    return Error(ENOENT, "undo: nothing was changed in " + branch + " by a run, an exec or a tool");
  return Error(ENOENT, "undo: nothing has run in branch " + branch,
               "'agentfs snapshot list' shows what can be restored");
}

}  // namespace

Result<int> RunDiscard(Context& context, const DiscardCommand& command) {
  return InSession(context, [&](Session& session) -> Result<int> {
    Backwards what{"discarded", OrMain(command.branch), "base", {}};
    AGENTFS_ASSIGN(what.paths, PathsOf(context, session, what, command.paths));
    return GoBack(context, session, what);
  });
}

Result<int> RunRestore(Context& context, const RestoreCommand& command) {
  if (context.words_after_dashes > command.paths.size()) {
    return Error(EINVAL, "restore: REF is missing: only paths follow '--'",
                 "'agentfs restore REF -- PATH' names both");
  }
  return InSession(context, [&](Session& session) -> Result<int> {
    Backwards what{"restored", OrMain(command.branch), command.ref, {}};
    AGENTFS_ASSIGN(what.paths, PathsOf(context, session, what, command.paths));
    return GoBack(context, session, what);
  });
}

Result<int> RunUndo(Context& context, const UndoCommand& command) {
  return InSession(context, [&](Session& session) -> Result<int> {
    Backwards what{"undone", OrMain(command.branch), "", {}};
    AGENTFS_TRY(RequireBranch(session.volume(), what.branch));
    AGENTFS_TRY(session.operations().FlushPages(what.branch));
    AGENTFS_ASSIGN(what.ref, WhatToUndoTo(session, what.branch));
    return GoBack(context, session, what);
  });
}

}  // namespace agentfs::cli
