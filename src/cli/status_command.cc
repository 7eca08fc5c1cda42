// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "adapters/control/json.h"
#include "cli/change_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"
#include "cli/workspace_json.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

std::string Bytes(const Json& value) { return FormatBytes(value.get<uint64_t>()); }

std::string UsersText(const Json& users) {
  std::string text;
  for (const Json& user : users) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", Text(user["name"]),
                        user["pid"].get<uint32_t>());
  }
  return text.empty() ? "nobody" : text;
}

std::string MountText(const Json& mount) {
  std::string what = "all branches";
  for (const char* kind : {"snapshot", "branch"}) {
    if (mount.contains(kind)) what = std::string(kind) + " " + Text(mount[kind]);
  }
  std::string text = fmt::format("  {}  {}{}, profile {}\n", Text(mount["mount_point"]), what,
                                 mount["read_only"] ? ", read-only" : "", Text(mount["profile"]));
  return text + "    used by: " + UsersText(mount["users"]) + "\n";
}

Result<void> PrintBranches(const Context& context, const Json& branches) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& branch : branches) {
    const Json& changes = branch["changes"];
    rows.push_back({Text(branch["name"]), Text(branch["on"]), Text(changes["added"]),
                    Text(changes["modified"]), Text(changes["removed"]), Text(changes["renamed"]),
                    Text(changes["outside"]), Bytes(changes["bytes"]),
                    branch["in_use"] ? "yes" : "no"});
  }
  return context.PrintTable(
      {"BRANCH", "ON", "ADDED", "MODIFIED", "DELETED", "RENAMED", "OUTSIDE", "BYTES", "IN USE"},
      rows);
}

std::string LimitsText(const Json& limits) {
  std::string text;
  for (const auto& [name, value] : limits.items()) {
    if (!value.is_null())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, Text(value));
  }
  return text.empty() ? "none" : text;
}

Result<void> PrintStatus(const Context& context, const Json& status) {
  std::string text = fmt::format("workspace  {}\nbase       {}\n", Text(status["workspace"]),
                                 Text(status["base"]));
  const Json& sizes = status["sizes"];
  text += fmt::format("content    {} in {} nodes and {} layers; database {}\n",
                      Bytes(sizes["stored_bytes"]), Text(sizes["nodes"]), Text(sizes["layers"]),
                      Bytes(sizes["database_bytes"]));
  text += fmt::format("snapshots  {}\nlimits     {}\n", Text(status["snapshots"]),
                      LimitsText(status["limits"]));
  if (status.contains("server")) {
    text += fmt::format("server     process {}\n", Text(status["server"]["pid"]));
  }
  AGENTFS_TRY(context.Print(text + "\n"));
  AGENTFS_TRY(PrintBranches(context, status["branches"]));
  text = status["runs"].empty() ? "" : "\nruns\n";
  for (const Json& run : status["runs"]) {
    text += fmt::format("  branch {}, process {}: {}\n", Text(run["branch"]), Text(run["pid"]),
                        Text(run["command"]));
  }
  AGENTFS_TRY(context.Print(text));
  text = status["mounts"].empty() ? "" : "\nmounts\n";
  for (const Json& mount : status["mounts"]) text += MountText(mount);
  text += status["processes"].empty() ? "" : "\nprocesses\n";
  for (const Json& process : status["processes"]) {
    text +=
        fmt::format("  {} ({})  branch {} at {}\n", Text(process["name"]),
                    process["pid"].get<uint32_t>(), Text(process["branch"]), Text(process["path"]));
  }
  return context.Print(text);
}

// How each branch differs from the base.
Result<void> CountChanges(Volume& volume, Json& branches) {
  for (Json& branch : branches) {
    const std::string name = branch["name"];
    AGENTFS_ASSIGN(const auto inside,
                   FindChanges(volume, "base", name, ChangeScope::kWorkspace, Effort::kBounded));
    AGENTFS_ASSIGN(const auto outside,
                   FindChanges(volume, "base", name, ChangeScope::kHost, Effort::kBounded));
    Json& changes = branch["changes"];
    changes.update(CountsJson(inside));
    changes["outside"] = ListedChanges(outside).size();
    if (!changes.contains("bytes")) changes["bytes"] = 0;
  }
  return Ok();
}

}  // namespace

Result<int> RunStatus(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  AGENTFS_ASSIGN(Json status, control::StatusJson(session->operations()));
  DescribeWorkspace(session->workspace(), status);
  AGENTFS_TRY(CountChanges(session->volume(), status["branches"]));
  if (context.live != nullptr)
    status["server"] = {{"pid", ::getpid()}, {"version", AGENTFS_VERSION}};
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(context.json ? context.PrintJson(status) : PrintStatus(context, status));
  return kDone;
}

}  // namespace agentfs::cli
