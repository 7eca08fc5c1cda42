// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/tool.h"

#include <sys/stat.h>

#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>

#include "adapters/mcp/confined_view.h"

namespace agentfs::mcp {

using Json = nlohmann::ordered_json;

namespace {

// What is larger does not help a model, and would be in memory several times.
constexpr uint64_t kMaxWhole = uint64_t{64} << 20;

}  // namespace

Result<std::shared_ptr<const BranchView>> OpenBranchView(Host& host, const std::string& branch) {
  AGENTFS_ASSIGN(auto view, host.OpenBranch(branch));
  return std::make_shared<const BranchView>(
      BranchView{branch, Files(Confine(std::move(view)), host.AsCaller())});
}

Result<std::string> ToolCall::PathArgument(std::string_view name) const {
  const std::string given = arguments.at(std::string(name)).get<std::string>();
  auto path = paths.ToView(files(), given);
  if (!path.ok()) return FileError(path.error(), given);
  return path;
}

Json TextResult(std::string text) {
  Json result;
  result["content"] = Json::array({{{"type", "text"}, {"text", text}}});
  result["structuredContent"]["content"] = std::move(text);
  return result;
}

Json ErrorResult(const Error& error) {
  std::string text = error.message();
  if (!error.remedy().empty()) text += "\n" + std::string(error.remedy());
  Json result;
  result["content"] = Json::array({{{"type", "text"}, {"text", std::move(text)}}});
  result["isError"] = true;
  return result;
}

Error FileError(const Error& error, std::string_view path) {
  const char* name = ::strerrorname_np(error.code());
  const char* text = ::strerrordesc_np(error.code());
  std::string said = error.message();
  // Whoever gave a message has named what it is about.
  if (text != nullptr && said != text) return error;
  if (!said.empty()) said[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(said[0])));
  return Error(error.code(),
               std::string(name ? name : "EIO") + ": " + said + ", '" + std::string(path) + "'");
}

Result<std::string> ReadWhole(const ToolCall& call, const std::string& path) {
  const std::string shown = call.paths.ToClient(path);
  auto entry = call.files().Entry(path, FollowLinks::kYes);
  if (!entry.ok()) return FileError(entry.error(), shown);
  if (S_ISREG(entry->attr.mode) && entry->attr.size > kMaxWhole) {
    return Error(EFBIG, "EFBIG: " + shown + " has " + std::to_string(entry->attr.size) + " bytes",
                 "read the beginning with 'head' or the end with 'tail'");
  }
  auto bytes = call.files().ReadBytes(path, call.stop);
  if (!bytes.ok()) return FileError(bytes.error(), shown);
  return bytes;
}

}  // namespace agentfs::mcp
