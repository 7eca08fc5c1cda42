// SPDX-License-Identifier: Apache-2.0
//
// audit: the log of file operations.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "agentfs/op_log.h"
#include "base/clock.h"
#include "base/path_glob.h"
#include "base/time_text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"
#include "cli/time_argument.h"

namespace agentfs::cli {
namespace {

using OpJson = nlohmann::ordered_json;

constexpr uint64_t kUsualLimit = 1000;

// 15m, 2h, 3d: that long ago; else a time.
Result<int64_t> ParseSince(const std::string& text) {
  static constexpr std::pair<char, int64_t> kUnits[] = {
      {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
  constexpr int64_t kSecond = 1'000'000'000;
  for (const auto& [unit, seconds] : kUnits) {
    int64_t number = 0;
    if (text.size() < 2 || text.back() != unit) continue;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, number);
    if (error != std::errc() || end != text.data() + text.size() - 1 || number < 0) continue;
    const int64_t now = ToNanoseconds(Now());
    return number > now / kSecond / seconds ? 0 : now - number * seconds * kSecond;
  }
  auto time = ParseTimeArgument(text);
  if (time.ok()) return time;
  return Error(
      EINVAL, "'" + text + "' is no time",
      "say 15m, 2h, 3d or 1w ago, 2025-01-31, 2025-01-31T12:00:00Z, or seconds since 1970");
}

Result<OpFilter> FilterOf(const AuditCommand& command) {
  OpFilter filter;
  filter.exec = command.exec;
  if (!command.op.empty()) {
    filter.kind = OpNamed(command.op);
    if (!filter.kind) return Error(EINVAL, "--op: '" + command.op + "' is no operation");
  }
  if (!command.since.empty()) {
    AGENTFS_ASSIGN(filter.since_ns, ParseSince(command.since));
  }
  if (!command.path.empty()) {
    AGENTFS_ASSIGN(PathGlob glob, PathGlob::Compile(command.path));
    filter.path = [glob = std::move(glob)](const std::string& path) {
      return glob.MatchesOrHolds(path);
    };
  }
  return filter;
}

OpJson JsonOf(const OpRecord& op) {
  OpJson json = {{"id", op.id},           {"time", FormatTime(FromNanoseconds(op.time_ns))},
                 {"time_ns", op.time_ns}, {"branch", op.branch},
                 {"layer", op.layer},     {"op", OpName(op.kind)},
                 {"path", op.path}};
  if (!op.path2.empty()) json["path2"] = op.path2;
  json["node"] = op.node;
  json["bytes"] = op.bytes;
  if (op.kind == OpKind::kOpen) json["bytes_read"] = op.bytes_read;
  json["errno"] = op.error;
  json["pid"] = op.process.pid;
  json["ppid"] = op.process.ppid;
  json["uid"] = op.process.uid;
  json["comm"] = op.process.comm;
  json["exec"] = op.process.exec;
  return json;
}

Result<void> PrintLine(const Context& context, const OpRecord& op) {
  return context.Print(JsonOf(op).dump(-1, ' ', false, OpJson::error_handler_t::replace) + "\n");
}

// The bytes that a terminal must not get are told as escapes.
std::string Shown(const std::string& text) {
  std::string shown;
  for (const unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) {
      shown += fmt::format("\\x{:02x}", c);
    } else {
      shown += static_cast<char>(c);
    }
  }
  return shown;
}

std::vector<std::string> RowOf(const OpRecord& op) {
  std::string what(OpName(op.kind));
  if (op.error != 0) what += fmt::format(" ({})", Error(op.error).message());
  std::string path = Shown(op.path);
  if (!op.path2.empty()) path += " -> " + Shown(op.path2);
  return {std::to_string(op.id),
          FormatLocalTime(FromNanoseconds(op.time_ns)),
          op.process.exec == 0 ? "-" : std::to_string(op.process.exec),
          fmt::format("{}[{}]", Shown(op.process.comm), op.process.pid),
          op.branch,
          what,
          op.bytes == 0 ? "" : std::to_string(op.bytes),
          path};
}

// The last `limit` (0: all), in their order.
Result<void> VisitLast(Volume& volume, OpFilter filter, uint64_t limit,
                       const std::function<Result<void>(const OpRecord&)>& visit) {
  std::vector<OpRecord> last;
  Result<void> visited;
  filter.limit = limit;
  filter.order = limit == 0 ? Order::kAscending : Order::kDescending;
  AGENTFS_TRY(ScanOps(volume, filter, [&](const OpRecord& op) {
    if (limit != 0) {
      last.push_back(op);
    } else {
      visited = visit(op);
    }
    return visited.ok() ? Visit::kContinue : Visit::kStop;
  }));
  AGENTFS_TRY(visited);
  for (auto op = last.rbegin(); op != last.rend(); ++op) AGENTFS_TRY(visit(*op));
  return Ok();
}

Result<int> PrintLines(Context& context, const AuditCommand& command, uint64_t usual_limit) {
  AGENTFS_ASSIGN(const OpFilter filter, FilterOf(command));
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  AGENTFS_TRY(VisitLast(session->volume(), filter, command.limit.value_or(usual_limit),
                        [&](const OpRecord& op) { return PrintLine(context, op); }));
  AGENTFS_TRY(session->Close());
  return kDone;
}

}  // namespace

Result<int> RunAudit(Context& context, const AuditCommand& command) {
  if (context.json) return PrintLines(context, command, kUsualLimit);
  AGENTFS_ASSIGN(const OpFilter filter, FilterOf(command));
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  std::vector<std::vector<std::string>> rows;
  AGENTFS_TRY(VisitLast(session->volume(), filter, command.limit.value_or(kUsualLimit),
                        [&](const OpRecord& op) {
                          rows.push_back(RowOf(op));
                          return Ok();
                        }));
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(
      context.PrintTable({"ID", "TIME", "EXEC", "PROCESS", "BRANCH", "OP", "BYTES", "PATH"}, rows));
  return kDone;
}

Result<int> RunAuditExport(Context& context, const AuditCommand& command) {
  return PrintLines(context, command, 0);
}

Result<int> RunAuditPrune(Context& context, const AuditPrune& command) {
  if (command.before.empty() && !command.keep) {
    return Error(EINVAL, "audit prune: it takes --before or --keep");
  }
  int64_t before = 0;
  if (!command.before.empty()) {
    AGENTFS_ASSIGN(before, ParseSince(command.before));
    before = std::max<int64_t>(before, 1);  // 0 is no time to PruneOps
  }
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  AGENTFS_ASSIGN(const uint64_t dropped,
                 PruneOps(session->volume(), before, command.keep.value_or(0)));
  AGENTFS_TRY(session->Close());
  if (context.json) AGENTFS_TRY(context.PrintJson({{"dropped", dropped}}));
  context.Notice(fmt::format("dropped {} row{}", dropped, dropped == 1 ? "" : "s"));
  return kDone;
}

}  // namespace agentfs::cli
