// SPDX-License-Identifier: Apache-2.0
//
// summary: what a run has changed, for people. Deletions come first, and all of them.
#include <fmt/core.h>

#include "cli/change_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"
#include "workspace/changes.h"

namespace agentfs::cli {
namespace {

constexpr size_t kMostShown = 20;

std::string OptionFor(const std::string& branch) {
  return branch == kMainBranch ? "" : " --branch " + branch;
}

std::string NextCommands(const std::string& branch) {
  return fmt::format(
      "see it: agentfs diff{0}   keep it: agentfs apply{0}   go back: agentfs undo{0}\n",
      OptionFor(branch));
}

}  // namespace

Result<int> RunSummary(Context& context, const SummaryOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  AGENTFS_ASSIGN(const auto inside, FindChanges(session->volume(), options.since, options.branch));
  AGENTFS_ASSIGN(const auto outside,
                 FindChanges(session->volume(), options.since, options.branch, ChangeScope::kHost));
  std::string text;
  if (inside.empty() && outside.empty()) {
    text = fmt::format("agentfs: no changes in branch {}\n", options.branch);
  }
  if (!inside.empty()) {
    text += fmt::format("agentfs: branch {}: {}\n", options.branch, CountsText(inside));
    text += ChangeSummary(inside, kMostShown);
  }
  if (!outside.empty()) {
    text += fmt::format("agentfs: outside of the workspace, in the branch too: {}\n",
                        CountsText(outside));
    text += ChangeSummary(outside, kMostShown);
    text += fmt::format("see that: agentfs diff --outside{0}   keep it: agentfs apply{0} PATH\n",
                        OptionFor(options.branch));
  }
  if (!inside.empty() || !outside.empty()) text += NextCommands(options.branch);
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(context.Print(text));
  return kDone;
}

}  // namespace agentfs::cli
