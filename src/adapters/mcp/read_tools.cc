// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "adapters/mcp/line_windows.h"
#include "adapters/mcp/media_types.h"
#include "adapters/mcp/tools.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

// How many lines are asked for; 0: no such limit.
Result<uint64_t> LinesArgument(const Json& arguments, const char* name) {
  const double count = arguments.value(name, 0.0);
  if (count < 0 || count > 1e15) {
    return Error(EINVAL, std::string(name) + " must be a number of lines");
  }
  return static_cast<uint64_t>(std::ceil(count));
}

Json MediaBlock(const ToolCall& call, const std::string& path, const std::string& bytes) {
  const std::string type(MediaType(path));
  std::string data = absl::Base64Escape(bytes);
  if (type.starts_with("image/") || type.starts_with("audio/")) {
    return {{"type", type.substr(0, 5)}, {"data", std::move(data)}, {"mimeType", type}};
  }
  return {{"type", "resource"},
          {"resource",
           {{"uri", call.paths.ToUri(path)}, {"mimeType", type}, {"blob", std::move(data)}}}};
}

Result<std::string> ReadOne(const ToolCall& call, const std::string& given) {
  auto path = call.paths.ToView(call.files(), given);
  if (!path.ok()) return FileError(path.error(), given);
  return ReadWhole(call, *path);
}

}  // namespace

Result<Json> ReadTextFile(ToolCall& call) {
  AGENTFS_ASSIGN(const uint64_t head, LinesArgument(call.arguments, "head"));
  AGENTFS_ASSIGN(const uint64_t tail, LinesArgument(call.arguments, "tail"));
  if (head > 0 && tail > 0) {
    return Error(EINVAL, "Cannot specify both head and tail parameters simultaneously");
  }
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  if (head == 0 && tail == 0) {
    AGENTFS_ASSIGN(std::string text, ReadWhole(call, path));
    return TextResult(std::move(text));
  }
  auto lines = head > 0 ? FirstLines(call.files(), path, head, call.stop)
                        : LastLines(call.files(), path, tail, call.stop);
  if (!lines.ok()) return FileError(lines.error(), call.paths.ToClient(path));
  return TextResult(std::move(*lines));
}

Result<Json> ReadMediaFile(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  AGENTFS_ASSIGN(const std::string bytes, ReadWhole(call, path));
  Json result;
  result["content"] = Json::array({MediaBlock(call, path, bytes)});
  result["structuredContent"]["content"] = result["content"];
  return result;
}

Result<Json> ReadMultipleFiles(ToolCall& call) {
  const Json& paths = call.arguments.at("paths");
  call.progress.SetTotal(paths.size());
  constexpr size_t kMaxTogether = size_t{64} << 20;
  std::string text;
  for (const Json& each : paths) {
    if (call.stop.stop_requested()) return Error(ECANCELED);
    const std::string given = each.get<std::string>();
    if (!text.empty()) text += "\n---\n";
    const auto content = ReadOne(call, given);
    text += content.ok() ? given + ":\n" + *content + "\n"
                         : given + ": Error - " + content.error().message();
    if (text.size() > kMaxTogether) {
      return Error(EFBIG, "EFBIG: these files have more than 64 MiB together",
                   "read fewer at once");
    }
    call.progress.Step();
  }
  return TextResult(std::move(text));
}

}  // namespace agentfs::mcp
