// SPDX-License-Identifier: Apache-2.0
//
// doctor: what this machine can do for us, found out by trying it.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/doctor_checks.h"
#include "cli/open_workspace.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string_view WordFor(Finding::State state) {
  switch (state) {
    case Finding::State::kGood:
      return "ok";
    case Finding::State::kMissing:
      return "missing";
    case Finding::State::kLess:
      break;
  }
  return "limited";
}

Result<void> PrintFindings(const Context& context, const std::vector<Finding>& findings) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding& finding : findings) {
    rows.push_back({finding.name, std::string(WordFor(finding.state)), finding.detail});
  }
  AGENTFS_TRY(context.PrintTable({"WHAT", "STATE", "DETAIL"}, rows));
  std::string remedies;
  for (const Finding& finding : findings) {
    if (finding.remedy.empty()) continue;
    remedies += fmt::format("{}: {}\n", finding.name, finding.remedy);
  }
  return context.Print(remedies.empty() ? "" : "\nTo do:\n" + remedies);
}

}  // namespace

Result<int> RunDoctor(Context& context) {
  std::string state = ".";
  if (auto workspace = LocateWorkspace(context); workspace.ok()) {
    state = std::filesystem::path(workspace->layout.database).parent_path();
  }
  const std::vector<Finding> findings = CheckMachine(state);
  bool can_run = true;
  Json checks = Json::array();
  for (const Finding& finding : findings) {
    can_run &= finding.state != Finding::State::kMissing;
    Json check = {
        {"name", finding.name}, {"state", WordFor(finding.state)}, {"detail", finding.detail}};
    if (!finding.remedy.empty()) check["remedy"] = finding.remedy;
    checks.push_back(std::move(check));
  }
  if (context.json) {
    AGENTFS_TRY(context.PrintJson({{"can_run", can_run}, {"checks", std::move(checks)}}));
  } else {
    AGENTFS_TRY(PrintFindings(context, findings));
  }
  return can_run ? kDone : kNo;
}

}  // namespace agentfs::cli
