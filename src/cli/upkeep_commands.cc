// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"
#include "workspace/kept_outputs.h"

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

bool IsSound(const FsckReport& report) {
  return std::all_of(report.problems.begin(), report.problems.end(),
                     [](const FsckProblem& problem) { return problem.repaired; });
}

// Adds what the volume, which can be opened, says.
Result<void> CheckRows(Context& context, bool repair, FsckReport* report) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, repair ? Access::kWrite : Access::kRead));
  auto checked = session->volume().Check(repair);
  if (!checked.ok()) return checked.error().WithContext("fsck");
  AGENTFS_TRY(session->Close());
  report->rows_checked += checked->rows_checked;
  for (FsckProblem& problem : checked->problems) report->problems.push_back(std::move(problem));
  return Ok();
}

}  // namespace

Result<int> RunGc(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  auto collected = session->volume().CollectGarbage();
  if (!collected.ok()) return collected.error().WithContext("gc");
  GcReport report = *collected;
  AGENTFS_ASSIGN(const uint64_t outputs,
                 RemoveLostOutputs(session->volume(), session->workspace().layout));
  report.bytes_reclaimed += outputs;
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
  const bool repairs = repair == Repair::kYes;
  auto tables = Session::CheckTables(context, repairs);
  if (!tables.ok()) return tables.error().WithContext("fsck");
  FsckReport report = std::move(*tables);
  if (IsSound(report)) AGENTFS_TRY(CheckRows(context, repairs, &report));
  AGENTFS_TRY(PrintProblems(context, report));
  if (IsSound(report)) return kDone;
  if (!repairs) context.Notice("'agentfs fsck --repair' repairs what can be");
  return kNo;
}

}  // namespace agentfs::cli
