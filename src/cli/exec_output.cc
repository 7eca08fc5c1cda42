// SPDX-License-Identifier: Apache-2.0
//
// exec --output: what a command has written, all of it.
#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "agentfs/exec_log.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"
#include "exec/json_bytes.h"
#include "sys/fd.h"
#include "workspace/kept_outputs.h"

namespace agentfs::cli {
namespace {

Result<void> PrintFile(const Context& context, const std::string& path) {
  auto file = OpenAt(AT_FDCWD, path, O_RDONLY);
  if (!file.ok()) return file.error().WithContext(path);
  std::string piece(256 << 10, '\0');
  for (uint64_t at = 0;;) {
    AGENTFS_ASSIGN(const size_t size, ReadAt(file->get(), at, piece));
    if (size == 0) return Ok();
    AGENTFS_TRY(context.Print(std::string_view(piece).substr(0, size)));
    at += size;
  }
}

}  // namespace

Result<int> RunExecOutput(Context& context, const ExecCommand& command) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  const std::string id = std::to_string(*command.output);
  AGENTFS_ASSIGN(const auto record, GetExec(session->volume(), *command.output));
  if (!record) return Error(ENOENT, "exec " + id + ": there is none", "'agentfs log' lists them");
  const auto details = nlohmann::ordered_json::parse(record->start.details, nullptr, false);
  const std::string name = command.show_error ? "stderr" : "stdout";
  if (!details.is_object() || !details.contains(name + "_bytes")) {
    return Error(ENOENT, "exec " + id + ": nothing of what it wrote was kept");
  }
  if (details.contains(name + "_kept")) {
    const auto stream = command.show_error ? OutputOf::kErr : OutputOf::kOut;
    AGENTFS_TRY(
        PrintFile(context, KeptOutput(session->workspace().layout, *command.output, stream)));
  } else {
    AGENTFS_TRY(context.Print(GetBytes(details, name)));
  }
  AGENTFS_TRY(session->Close());
  return kDone;
}

}  // namespace agentfs::cli
