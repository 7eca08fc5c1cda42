// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "adapters/mcp/text_edits.h"
#include "adapters/mcp/tools.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

std::string Given(const ToolCall& call, const char* name) {
  return call.arguments.at(name).get<std::string>();
}

std::vector<TextEdit> EditsArgument(const Json& arguments) {
  std::vector<TextEdit> edits;
  for (const Json& each : arguments.at("edits")) {
    edits.push_back({each.at("oldText").get<std::string>(), each.at("newText").get<std::string>()});
  }
  return edits;
}

// "Destination already exists" is what clients know.
Error TransferError(const ToolCall& call, const Error& error, const std::string& from,
                    const std::string& to) {
  if (error.code() == EEXIST) {
    return Error(EEXIST, "Destination already exists: " + call.paths.ToClient(to));
  }
  return FileError(error, call.paths.ToClient(from) + "' -> '" + call.paths.ToClient(to));
}

}  // namespace

Result<Json> WriteFile(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  const auto written = call.files().WriteBytes(
      path, call.arguments.at("content").get_ref<const std::string&>(), call.stop);
  if (!written.ok()) return FileError(written.error(), call.paths.ToClient(path));
  return TextResult("Successfully wrote to " + Given(call, "path"));
}

Result<Json> EditFile(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  AGENTFS_ASSIGN(const std::string content, ReadWhole(call, path));
  const std::string before = WithPlainLineEnds(content);
  AGENTFS_ASSIGN(const std::string after, ApplyEdits(before, EditsArgument(call.arguments)));
  AGENTFS_ASSIGN(std::string patch, PatchBlock(call.paths.ToClient(path), before, after));
  if (!call.arguments.value("dryRun", false) && after != before) {
    const auto written = call.files().WriteBytes(
        path, HasDosLineEnds(content) ? WithDosLineEnds(after) : after, call.stop);
    if (!written.ok()) return FileError(written.error(), call.paths.ToClient(path));
  }
  return TextResult(std::move(patch));
}

Result<Json> CreateDirectory(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  const auto made = call.files().CreateDirectories(path);
  if (!made.ok()) return FileError(made.error(), call.paths.ToClient(path));
  return TextResult("Successfully created directory " + Given(call, "path"));
}

Result<Json> MoveFile(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string from, call.PathArgument("source"));
  AGENTFS_ASSIGN(const std::string to, call.PathArgument("destination"));
  const auto moved = call.files().Move(from, to);
  if (!moved.ok()) return TransferError(call, moved.error(), from, to);
  return TextResult("Successfully moved " + Given(call, "source") + " to " +
                    Given(call, "destination"));
}

Result<Json> CopyFile(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string from, call.PathArgument("source"));
  AGENTFS_ASSIGN(const std::string to, call.PathArgument("destination"));
  const bool overwrite = call.arguments.value("overwrite", false);
  const auto copied = call.files().Copy(from, to, Recursion::kYes,
                                        overwrite ? Overwrite::kYes : Overwrite::kNo, call.stop);
  if (!copied.ok()) return TransferError(call, copied.error(), from, to);
  return TextResult("Successfully copied " + Given(call, "source") + " to " +
                    Given(call, "destination"));
}

Result<Json> DeleteFile(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  const bool recursive = call.arguments.value("recursive", false);
  const auto deleted =
      call.files().Delete(path, recursive ? Recursion::kYes : Recursion::kNo, call.stop);
  if (deleted.code() == ENOTEMPTY) {
    return Error(ENOTEMPTY, "ENOTEMPTY: directory not empty, '" + call.paths.ToClient(path) + "'",
                 "'recursive' deletes what is in it too");
  }
  if (!deleted.ok()) return FileError(deleted.error(), call.paths.ToClient(path));
  return TextResult("Successfully deleted " + Given(call, "path"));
}

}  // namespace agentfs::mcp
