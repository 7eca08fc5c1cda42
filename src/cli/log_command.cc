// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/file_mode.h"
#include "cli/one_line.h"
#include "cli/path_arguments.h"
#include "cli/session.h"
#include "workspace/history.h"

namespace agentfs::cli {
namespace {

std::string_view KindName(HistoryEvent::Kind kind) {
  static constexpr std::string_view kNames[] = {"run",   "exec",       "snapshot",
                                                "apply", "apply-undo", "mcp"};
  return kNames[static_cast<size_t>(kind)];
}

std::string IdText(uint64_t id) { return id != 0 ? std::to_string(id) : ""; }

Result<void> PrintEvents(const Context& context, const std::vector<HistoryEvent>& events) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (const HistoryEvent& event : events) {
    const Timestamp time = FromNanoseconds(event.time_ns);
    list.push_back({{"kind", KindName(event.kind)},
                    {"time", FormatTime(time)},
                    {"branch", event.branch},
                    {"snapshot", event.ref},
                    {"text", event.text}});
    if (event.exec != 0) {
      list.back()["exec"] = event.exec;
      list.back()["status"] = event.status ? nlohmann::ordered_json(*event.status) : nullptr;
    }
    rows.push_back({FormatLocalTime(time), std::string(KindName(event.kind)), IdText(event.exec),
                    event.status ? std::to_string(*event.status) : "", event.branch, event.ref,
                    OneLine(event.text)});
  }
  if (context.json) return context.PrintJson(list);
  return context.PrintTable({"TIME", "WHAT", "ID", "STATUS", "BRANCH", "SNAPSHOT", "TEXT"}, rows);
}

Result<void> PrintVersions(const Context& context, const std::string& path,
                           const std::vector<FileVersion>& versions) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (const FileVersion& version : versions) {
    list.push_back({{"ref", version.ref},
                    {"path", path},
                    {"time", FormatTime(version.time)},
                    {"present", version.attr.has_value()},
                    {"exec", version.exec != 0 ? nlohmann::ordered_json(version.exec) : nullptr}});
    std::string mode = "-", size = "-";
    if (version.attr) {
      mode = ModeString(version.attr->mode);
      size = std::to_string(version.attr->size);
      list.back()["type"] = TypeName(version.attr->mode);
      list.back()["mode"] = fmt::format("{:04o}", version.attr->mode & 07777);
      list.back()["size"] = version.attr->size;
      list.back()["modified"] = FormatTime(version.attr->mtime);
    }
    rows.push_back({version.ref, FormatLocalTime(version.time), IdText(version.exec), mode, size,
                    version.attr ? FormatLocalTime(version.attr->mtime) : "not there"});
  }
  if (context.json) return context.PrintJson(list);
  return context.PrintTable({"REF", "TIME", "EXEC", "MODE", "SIZE", "MODIFIED"}, rows);
}

}  // namespace

Result<int> RunLog(Context& context, const LogCommand& command) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  const std::string branch = command.branch.empty() ? std::string(kMainBranch) : command.branch;
  AGENTFS_TRY(RequireBranch(session->volume(), branch));
  if (command.path.empty()) {
    AGENTFS_ASSIGN(auto events, ReadHistory(session->volume(), session->workspace().layout));
    if (!command.branch.empty()) {
      std::erase_if(events, [&](const HistoryEvent& event) { return event.branch != branch; });
    }
    AGENTFS_TRY(PrintEvents(context, events));
  } else {
    AGENTFS_ASSIGN(const std::string path,
                   WorkspacePath(context, session->workspace().layout, command.path));
    AGENTFS_ASSIGN(const auto versions, VersionsOf(session->volume(), branch, path));
    if (versions.empty()) {
      context.failed_path = path;
      return Error(ENOENT, path + ": neither in " + branch + " nor in a snapshot of it");
    }
    AGENTFS_TRY(PrintVersions(context, path, versions));
  }
  AGENTFS_TRY(session->Close());
  return kDone;
}

}  // namespace agentfs::cli
