// SPDX-License-Identifier: Apache-2.0
//
// sql: runs in the client, beside the server, so that no question holds anybody up.
#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "adapters/control/client.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/open_workspace.h"
#include "cli/session.h"
#include "cli/spec/spec_file.h"
#include "cli/sql/query_sandbox.h"
#include "cli/sql/sql_output.h"

namespace agentfs::cli {
namespace {

constexpr size_t kMaxQuery = 1 << 20;

// What the server has acknowledged and not yet written is part of the answer. Says whether there is
// a server.
Result<bool> FlushServer(const Layout& layout) {
  auto client = control::ControlClient::Connect(layout.socket);
  if (client.code() == ENOTCONN) return false;
  if (!client.ok()) return client.error().WithContext("the workspace's server");
  auto flushed = client->Call("flush", nlohmann::ordered_json::object());
  if (!flushed.ok() && flushed.code() != ECONNRESET) {
    return flushed.error().WithContext("the workspace's server");
  }
  return true;
}

Result<void> RequireSqlite(const Layout& layout) {
  std::ifstream file(layout.database, std::ios::binary);
  if (!file) return Error(errno != 0 ? errno : EIO).WithContext("cannot read " + layout.database);
  std::string beginning(kMagicBytes, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<size_t>(file.gcount()));
  if (beginning.empty() || IsDatabase(beginning)) return Ok();
  return Error(ENOTSUP, layout.database + " is no SQLite database: it cannot be asked in SQL",
               "'agentfs pack -o FILE.db' makes one of any workspace");
}

// Opened once as every command opens it, a workspace is what this version expects.
Result<void> Settle(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  return session->Close();
}

Result<std::unique_ptr<QuerySandbox>> OpenSandbox(Context& context, const Layout& layout) {
  constexpr int kTries = 3;
  for (int i = 0;; ++i) {
    AGENTFS_TRY(FlushServer(layout));
    auto sandbox = QuerySandbox::Open(layout.database);
    if (sandbox.code() != EPROTONOSUPPORT || i == kTries) return sandbox;
    // EBUSY: a server has come meanwhile, and does it.
    if (auto settled = Settle(context); !settled.ok() && settled.code() != EBUSY) {
      return settled.error();
    }
  }
}

Result<std::string> QueryOf(Context& context, const SqlCommand& command) {
  if (command.query != "-") return command.query;
  std::string text(kMaxQuery + 1, '\0');
  AGENTFS_ASSIGN(const size_t size, context.console->Read(text));
  if (size > kMaxQuery) return Error(EFBIG, "sql: the question is longer than 1 MiB");
  text.resize(size);
  return text;
}

}  // namespace

Result<int> RunSql(Context& context, const SqlCommand& command) {
  AGENTFS_ASSIGN(const Workspace workspace, LocateWorkspace(context));
  AGENTFS_TRY(RequireSqlite(workspace.layout));
  AGENTFS_ASSIGN(const std::string query, QueryOf(context, command));
  SqlLimits limits;
  limits.time = std::chrono::milliseconds(static_cast<int64_t>(command.timeout * 1000));
  limits.rows = command.limit != 0 ? command.limit : UINT64_MAX;
  SqlAnswer answer;
  {
    AGENTFS_ASSIGN(const auto sandbox, OpenSandbox(context, workspace.layout));
    AGENTFS_ASSIGN(answer, sandbox->Ask(query, limits));
  }
  const SqlFormat format = context.json  ? SqlFormat::kJson
                           : command.csv ? SqlFormat::kCsv
                                         : SqlFormat::kTable;
  AGENTFS_TRY(PrintAnswer(context, answer, format));
  if (answer.cut) {
    const bool by_rows = answer.rows.size() >= limits.rows;
    context.Notice(fmt::format("agentfs: only the first {} rows; {}", answer.rows.size(),
                               by_rows ? "--limit N gives more" : "more is too much"));
  }
  return kDone;
}

}  // namespace agentfs::cli
