// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "agentfs/exec_log.h"
#include "cli/change_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/path_arguments.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "workspace/apply.h"
#include "workspace/git_quote.h"

namespace agentfs::cli {
namespace {

using ApplyJson = nlohmann::ordered_json;

constexpr size_t kShownChanges = 40;

ApplyJson ConflictsJson(const std::vector<ApplyConflict>& conflicts) {
  static constexpr const char* kKinds[] = {"changed", "appeared", "vanished", "overlaps", "moved"};
  ApplyJson list = ApplyJson::array();
  for (const ApplyConflict& conflict : conflicts) {
    list.push_back({{"path", KnownPath(conflict.path)},
                    {"kind", kKinds[static_cast<size_t>(conflict.kind)]},
                    {"reason", conflict.reason()}});
  }
  return list;
}

ApplyJson RisksJson(const std::vector<Risk>& risks) {
  ApplyJson list = ApplyJson::array();
  for (const Risk& risk : risks) {
    list.push_back({{"path", KnownPath(risk.path)}, {"reason", risk.reason}});
  }
  return list;
}

ApplyJson PlanJson(const ApplyCommand& command, const ApplyPlan& plan, bool applied) {
  ApplyJson changes = ApplyJson::array(), merged = ApplyJson::array();
  for (const PathChange* change : ListedChanges(plan.changes))
    changes.push_back(ChangeJson(*change));
  for (const auto& [path, text] : plan.merged) merged.push_back(path);
  return {{"applied", applied},
          {"dry_run", command.dry_run},
          {"branch", command.branch},
          {"changes", changes},
          {"summary", CountsJson(plan.changes)},
          {"merged", merged},
          {"conflicts", ConflictsJson(plan.conflicts)},
          {"risks", RisksJson(plan.risks)}};
}

// Both go to people; scripts get one document.
Result<int> Refuse(const Context& context, int status, const std::string& code,
                   const std::string& message, const std::string& list, const std::string& remedy,
                   ApplyJson document) {
  context.console->WriteError("agentfs: " + message + "\n" + list + remedy + "\n");
  if (!context.json) return status;
  ApplyJson error = {{"code", code}, {"message", message}, {"remedy", remedy}};
  ApplyJson whole = {{"error", error}};
  whole.update(document);
  AGENTFS_TRY(context.PrintJson(whole));
  return status;
}

Result<int> RefuseConflicts(const Context& context, const ApplyCommand& command,
                            const ApplyPlan& plan) {
  std::string list;
  for (const ApplyConflict& conflict : plan.conflicts) {
    list += "  " + GitQuote(KnownPath(conflict.path)) + ": " + conflict.reason() + "\n";
  }
  const std::string message =
      fmt::format("apply: {} conflict{}; nothing was written", plan.conflicts.size(),
                  plan.conflicts.size() == 1 ? "" : "s");
  const bool moved = plan.conflicts.front().kind == ApplyConflict::Kind::kMoved;
  return Refuse(context, kConflict, "CONFLICT", message, list,
                moved ? "name both, or no path to apply everything"
                      : "--merge merges text, --force overwrites the base, 'agentfs discard PATH' "
                        "gives up the branch's version",
                PlanJson(command, plan, false));
}

std::string RisksText(const std::vector<Risk>& risks) {
  std::string text;
  for (const Risk& risk : risks) {
    text += "  " + GitQuote(KnownPath(risk.path)) + ": " + risk.reason + "\n";
  }
  return text;
}

// Asks on a terminal; true: go on.
Result<bool> Consent(const Context& context, const ApplyPlan& plan) {
  return context.console->AskYesOrNo("These would act later, once they are in the real files:\n" +
                                     RisksText(plan.risks) + "Apply them?");
}

Result<std::optional<int>> CheckRisks(const Context& context, const ApplyCommand& command,
                                      const ApplyPlan& plan) {
  if (plan.risks.empty() || command.yes) return std::optional<int>();
  const std::string message = fmt::format("apply: {} change{} would act later; nothing was written",
                                          plan.risks.size(), plan.risks.size() == 1 ? "" : "s");
  if (context.console->CanAsk() && !context.json) {
    AGENTFS_ASSIGN(const bool consent, Consent(context, plan));
    if (consent) return std::optional<int>();
    context.Notice("nothing was written");
    return std::optional<int>(kNo);
  }
  AGENTFS_ASSIGN(const int status,
                 Refuse(context, kNo, "RISKS", message, RisksText(plan.risks),
                        "look at them, then use --yes", PlanJson(command, plan, false)));
  return std::optional<int>(status);
}

void TellApplied(const Context& context, const ApplyCommand& command, const ApplyPlan& plan) {
  if (plan.changes.empty()) {
    context.Notice("nothing to apply: the base has all that branch " + command.branch + " has" +
                   (command.paths.empty() ? "" : " there"));
    return;
  }
  context.Notice(ChangeSummary(plan.changes, kShownChanges) +
                 fmt::format("{} {}", command.dry_run ? "would apply:" : "applied:",
                             CountsText(plan.changes)) +
                 (plan.merged.empty() ? "" : fmt::format(" ({} merged)", plan.merged.size())) +
                 (command.dry_run ? "" : "; 'agentfs apply --undo' takes it back"));
}

// Looks, without changing anything, at what would be done.
Result<int> DryRun(const Context& context, Applier& applier, const ApplyCommand& command,
                   const ApplyOptions& options) {
  AGENTFS_ASSIGN(const ApplyPlan plan, applier.Plan(command.branch, options));
  if (!plan.conflicts.empty()) return RefuseConflicts(context, command, plan);
  if (context.json) AGENTFS_TRY(context.PrintJson(PlanJson(command, plan, false)));
  TellApplied(context, command, plan);
  if (!plan.risks.empty()) {
    context.Notice("these would act later, and need --yes:\n" + RisksText(plan.risks));
  }
  return kDone;
}

Result<int> ApplyPlanned(const Context& context, Applier& applier, const ApplyCommand& command,
                         const ApplyPlan& plan, bool* applied) {
  if (!plan.conflicts.empty()) return RefuseConflicts(context, command, plan);
  AGENTFS_ASSIGN(const auto refused, CheckRisks(context, command, plan));
  if (refused) return *refused;
  if (!plan.changes.empty()) {
    const auto extent = command.paths.empty() ? Applier::Extent::kWhole : Applier::Extent::kPaths;
    AGENTFS_TRY(applier.Apply(plan, command.branch, extent));
    *applied = true;
  }
  if (context.json) AGENTFS_TRY(context.PrintJson(PlanJson(command, plan, *applied)));
  TellApplied(context, command, plan);
  return kDone;
}

ExecStart StartOf(const Context& context, const ApplyCommand& command, uint64_t snapshot) {
  ExecStart start;
  start.kind = exec_kinds::kApply;
  start.command = {"agentfs", "apply"};
  if (command.branch != kMainBranch) {
    start.command.insert(start.command.end(), {"--branch", command.branch});
  }
  if (command.merge) start.command.push_back("--merge");
  if (command.force) start.command.push_back("--force");
  start.command.insert(start.command.end(), command.paths.begin(), command.paths.end());
  start.directory = context.directory;
  start.branch = command.branch;
  start.snapshot = snapshot;
  start.uid = context.identity.uid;
  return start;
}

Result<int> ApplyBranch(Context& context, Session& session, Applier& applier,
                        const ApplyCommand& command, const ApplyOptions& options) {
  // The state that is applied must not change while it is.
  AGENTFS_ASSIGN(
      const SnapshotInfo snapshot,
      session.volume().CreateSnapshot(command.branch, "", "before apply", Durability::kNone));
  AGENTFS_ASSIGN(const uint64_t exec,
                 BeginExec(session.volume(), StartOf(context, command, snapshot.number)));
  bool applied = false;
  auto status = [&]() -> Result<int> {
    AGENTFS_ASSIGN(const ApplyPlan plan, applier.Plan(snapshot.name, options));
    return ApplyPlanned(context, applier, command, plan, &applied);
  }();
  const int ended = status.ok() ? *status : StatusOf(status.error());
  AGENTFS_TRY(EndExec(session.volume(), exec, {.status = ended}));
  if (!applied) AGENTFS_TRY(session.volume().DeleteSnapshot(snapshot.name));
  return status;
}

Result<int> UndoApply(Context& context, Applier& applier, const ApplyCommand& command) {
  AGENTFS_ASSIGN(const auto last, applier.Last());
  if (!last) return Error(ENOENT, "apply --undo: there is no apply to take back");
  AGENTFS_ASSIGN(const auto changed, applier.ChangedSinceLast());
  if (!changed.empty() && !command.force) {
    std::string list;
    for (const std::string& path : changed) list += "  " + GitQuote(KnownPath(path)) + "\n";
    const std::string message =
        fmt::format("apply --undo: {} path{} changed since the apply; nothing was written",
                    changed.size(), changed.size() == 1 ? " was" : "s were");
    return Refuse(context, kConflict, "CONFLICT", message, list,
                  "--force takes it back all the same",
                  {{"undone", false}, {"conflicts", changed}});
  }
  AGENTFS_TRY(applier.UndoLast());
  if (context.json) {
    AGENTFS_TRY(
        context.PrintJson({{"undone", true}, {"branch", last->branch}, {"paths", last->settle}}));
  }
  context.Notice(fmt::format("took back what was applied from {}", last->branch));
  return kDone;
}

Result<ApplyOptions> OptionsOf(Context& context, Session& session, const ApplyCommand& command) {
  ApplyOptions options;
  options.branch = command.branch;
  if (command.merge) options.on_conflict = OnConflict::kMerge;
  if (command.force) options.on_conflict = OnConflict::kOverwrite;
  AGENTFS_ASSIGN(const Views views, OpenViews(session.volume(), "base", command.branch));
  AGENTFS_ASSIGN(options.paths,
                 PathsInAndOut(context, session.workspace().layout, views, command.paths));
  AGENTFS_TRY(
      RequirePaths(context, views, options.paths, "the base nor in branch " + command.branch));
  return options;
}

}  // namespace

Result<int> RunApply(Context& context, const ApplyCommand& given) {
  ApplyCommand command = given;
  if (command.branch.empty()) command.branch = kMainBranch;
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  auto status = [&]() -> Result<int> {
    Progress progress(context, command.undo ? "taking back" : "applying");
    AGENTFS_ASSIGN(Applier applier, Applier::Open(session->volume(), session->workspace().layout));
    applier.SetHook([&](size_t done, size_t all) { progress.Show(done, all); });
    applier.SetRestorer([&](const std::string& branch, const std::string& ref) -> Result<void> {
      AGENTFS_TRY(session->operations().Restore(branch, ref));
      return Ok();
    });
    applier.SetForgetter(session->operations().Forgetter());
    if (command.undo) return UndoApply(context, applier, command);
    AGENTFS_TRY(RequireBranch(session->volume(), command.branch));
    AGENTFS_TRY(session->operations().FlushPages(command.branch));
    AGENTFS_ASSIGN(const ApplyOptions options, OptionsOf(context, *session, command));
    if (command.dry_run) return DryRun(context, applier, command, options);
    return ApplyBranch(context, *session, applier, command, options);
  }();
  if (!status.ok()) return status;
  AGENTFS_TRY(session->Close());
  return status;
}

}  // namespace agentfs::cli
