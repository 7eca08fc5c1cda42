// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "exec/envelope.h"
#include "exec/policy_files.h"
#include "workspace/locate.h"

namespace agentfs::cli {
namespace {

using policy::Explanation;
using policy::PartVerdict;

// A policy can be asked about without a workspace, unless one was named.
Result<std::optional<Workspace>> FindWorkspaceIfAny(const Context& context) {
  auto workspace = LocateWorkspace(context);
  if (workspace.ok()) return std::optional<Workspace>(std::move(*workspace));
  const bool none_named = context.workspace.empty() && Environment("AGENTFS_WORKSPACE").empty();
  if (workspace.code() == ENOENT && none_named) return std::optional<Workspace>();
  return workspace.error();
}

Result<Explanation> Explain(Context& context, const PolicyOptions& options) {
  AGENTFS_ASSIGN(const auto workspace, FindWorkspaceIfAny(context));
  AGENTFS_ASSIGN(const auto policies, LoadPolicies(workspace));
  const std::string directory = AbsolutePath(options.cwd.empty() ? "." : options.cwd);
  policy::PolicyRequest request = PolicyRequestIn(workspace, directory);
  request.arguments = options.arguments;
  if (options.shell) request.text = *options.shell;
  if (!options.network.empty()) request.network = *policy::NetworkNamed(options.network);
  return policies.Explain(request);
}

nlohmann::ordered_json CategoriesJson(policy::CategorySet categories) {
  auto list = nlohmann::ordered_json::array();
  for (policy::Category each : categories.List()) list.push_back(policy::CategoryName(each));
  return list;
}

std::string CategoriesText(policy::CategorySet categories) {
  std::string text;
  for (policy::Category each : categories.List()) {
    if (!text.empty()) text += ", ";
    text += policy::CategoryName(each);
  }
  return text;
}

std::string DecisionText(const policy::ExecutionDecision& decision) {
  return fmt::format("{}\n  categories: {}\n  rule: {}\n  reason: {}\n",
                     policy::ActionName(decision.action), CategoriesText(decision.categories),
                     decision.rule, decision.reason);
}

nlohmann::ordered_json PartJson(const PartVerdict& verdict) {
  const policy::Part& part = verdict.part;
  auto paths = nlohmann::ordered_json::array();
  for (const policy::PathUse& use : part.paths) {
    const char* access = use.access == policy::Access::kWrite ? "write" : "read";
    paths.push_back({{"path", use.path}, {"access", access}});
  }
  return {{"text", part.Text()},
          {"program", part.program},
          {"subcommand", part.subcommand},
          {"categories", CategoriesJson(part.categories)},
          {"why", part.reasons},
          {"paths", paths},
          {"action", policy::ActionName(verdict.action)},
          {"rule", verdict.rule},
          {"reason", verdict.reason}};
}

std::string PartText(const PartVerdict& verdict) {
  std::string text =
      fmt::format("{}\n  {} ({})\n", verdict.part.Text(), CategoriesText(verdict.part.categories),
                  policy::ActionName(verdict.action));
  for (const std::string& why : verdict.part.reasons) text += fmt::format("  why: {}\n", why);
  return text + fmt::format("  rule: {}: {}\n", verdict.rule, verdict.reason);
}

// One policy file, looked at.
struct FileReport {
  std::string path;
  std::string complaint;  // empty: nothing is wrong
  size_t rules = 0, examples = 0;
};

FileReport Inspect(const PolicyFile& file, const Result<policy::Policy>& loaded) {
  FileReport report;
  report.path = file.path;
  if (!loaded.ok()) {
    report.complaint = loaded.error().message();
    return report;
  }
  report.rules = loaded->rules.size();
  for (const policy::Rule& rule : loaded->rules) {
    report.examples += rule.match.size() + rule.not_match.size();
  }
  return report;
}

Result<std::vector<FileReport>> InspectAll(Context& context, const PolicyOptions& options) {
  std::vector<FileReport> reports;
  std::vector<PolicyFile> files;
  for (const std::string& path : options.arguments) files.push_back({path, policy::Origin::kUser});
  if (files.empty()) {
    AGENTFS_ASSIGN(const auto workspace, FindWorkspaceIfAny(context));
    files = PolicyFiles(workspace);
  }
  for (const PolicyFile& file : files) {
    const auto loaded = LoadPolicy(file);
    if (loaded.code() == ENOENT || loaded.code() == ENOTDIR) {
      if (options.arguments.empty()) continue;
      return context.Explain("policy test", file.path, Result<void>(loaded.error())).error();
    }
    reports.push_back(Inspect(file, loaded));
  }
  return reports;
}

Result<void> PrintReports(const Context& context, const std::vector<FileReport>& reports) {
  if (context.json) {
    auto list = nlohmann::ordered_json::array();
    for (const FileReport& each : reports) {
      list.push_back({{"file", each.path},
                      {"ok", each.complaint.empty()},
                      {"rules", each.rules},
                      {"examples", each.examples}});
      if (!each.complaint.empty()) list.back()["error"] = each.complaint;
    }
    return context.PrintJson({{"files", list}});
  }
  for (const FileReport& each : reports) {
    AGENTFS_TRY(context.Print(
        each.complaint.empty()
            ? fmt::format("{}: {} rules, {} examples: ok\n", each.path, each.rules, each.examples)
            : each.complaint + "\n"));
  }
  if (reports.empty())
    return context.Print("There are no policy files: the built-in rules hold.\n");
  return Ok();
}

}  // namespace

Result<int> RunPolicyCheck(Context& context, const PolicyOptions& options) {
  AGENTFS_ASSIGN(const Explanation explanation, Explain(context, options));
  const policy::ExecutionDecision& decision = explanation.decision;
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(DecisionJson(decision)));
  } else {
    AGENTFS_TRY(context.Print(DecisionText(decision)));
  }
  return decision.allowed() ? kDone : kNo;
}

Result<int> RunPolicyExplain(Context& context, const PolicyOptions& options) {
  AGENTFS_ASSIGN(const Explanation explanation, Explain(context, options));
  if (context.json) {
    auto parts = nlohmann::ordered_json::array();
    for (const PartVerdict& each : explanation.parts) parts.push_back(PartJson(each));
    AGENTFS_TRY(
        context.PrintJson({{"decision", DecisionJson(explanation.decision)}, {"parts", parts}}));
    return kDone;
  }
  for (const PartVerdict& each : explanation.parts)
    AGENTFS_TRY(context.Print(PartText(each) + "\n"));
  AGENTFS_TRY(context.Print("decision: " + DecisionText(explanation.decision)));
  return kDone;
}

Result<int> RunPolicyTest(Context& context, const PolicyOptions& options) {
  AGENTFS_ASSIGN(const auto reports, InspectAll(context, options));
  AGENTFS_TRY(PrintReports(context, reports));
  for (const FileReport& each : reports) {
    if (!each.complaint.empty()) return kNo;
  }
  return kDone;
}

}  // namespace agentfs::cli
