// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<void> PrintProblems(const Context& context, const FsckReport& report) {
  if (context.json) {
    Json problems = Json::array();
    for (const FsckProblem& problem : report.problems) {
      problems.push_back({{"what", problem.what}, {"repaired", problem.repaired}});
    }
    return context.PrintJson(
        {{"clean", report.clean()}, {"rows_checked", report.rows_checked}, {"problems", problems}});
  }
  for (const FsckProblem& problem : report.problems) {
    AGENTFS_TRY(context.Print(problem.what + (problem.repaired ? " (repaired)" : "") + "\n"));
  }
  if (report.clean()) {
    return context.Print(fmt::format("clean: {} rows checked\n", report.rows_checked));
  }
  return Ok();
}

}  // namespace

Result<int> RunGc(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  auto collected = session->volume().CollectGarbage();
  if (!collected.ok()) return collected.error().WithContext("gc");
  const GcReport report = *collected;
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson({{"layers_removed", report.layers_removed},
                                   {"layers_merged", report.layers_merged},
                                   {"rows_removed", report.rows_removed},
                                   {"objects_removed", report.objects_removed},
                                   {"bytes_reclaimed", report.bytes_reclaimed}}));
    return kDone;
  }
  AGENTFS_TRY(context.Print(fmt::format(
      "reclaimed {} ({} bytes): {} layers removed, {} merged, {} rows and {} objects removed\n",
      FormatBytes(report.bytes_reclaimed), report.bytes_reclaimed, report.layers_removed,
      report.layers_merged, report.rows_removed, report.objects_removed)));
  return kDone;
}

Result<int> RunFsck(Context& context, Repair repair) {
  AGENTFS_ASSIGN(auto session,
                 Session::Open(context, repair == Repair::kYes ? Access::kWrite : Access::kRead));
  auto checked = session->volume().Check(repair == Repair::kYes);
  if (!checked.ok()) return checked.error().WithContext("fsck");
  const FsckReport report = *checked;
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(PrintProblems(context, report));
  const bool sound = std::all_of(report.problems.begin(), report.problems.end(),
                                 [](const FsckProblem& problem) { return problem.repaired; });
  if (!sound && repair == Repair::kNo)
    context.Notice("'agentfs fsck --repair' repairs what can be");
  return sound ? kDone : kNo;
}

}  // namespace agentfs::cli
