// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/resources.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "adapters/mcp/media_types.h"
#include "agentfs/path.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPageSize = 500;

// One page of a walk that goes on after a path.
class ResourcePage {
 public:
  ResourcePage(const BranchView& branch, const ClientPaths& paths, std::stop_token stop)
      : branch_(branch), paths_(paths), stop_(std::move(stop)) {}

  // `after`: the names below `path` that lead to the last one of the page before.
  Result<void> Fill(const std::string& path, std::span<const std::string_view> after) {
    auto entries = branch_.files.ListEntries(path);
    if (entries.code() == EACCES || entries.code() == ENOENT) return Ok();
    if (!entries.ok()) return entries.error();
    for (const FileEntry& entry : *entries) {
      if (stop_.stop_requested()) return Error(ECANCELED);
      if (!after.empty() && entry.name < after[0]) continue;
      const bool partly = !after.empty() && entry.name == after[0];
      if (full()) return Ok();
      if (S_ISDIR(entry.attr.mode)) {
        if (entry.name == ".git") continue;
        AGENTFS_TRY(Fill(entry.path, partly ? after.subspan(1) : after.subspan(after.size())));
      } else if (S_ISREG(entry.attr.mode) && !partly) {
        Add(entry);
      }
    }
    return Ok();
  }

  bool full() const { return list_.size() >= kPageSize; }

  Json Take() {
    Json result;
    const bool more = full();
    result["resources"] = std::move(list_);
    if (more) result["nextCursor"] = absl::WebSafeBase64Escape(last_);
    return result;
  }

 private:
  void Add(const FileEntry& entry) {
    list_.push_back({{"uri", paths_.ToUri(entry.path)},
                     {"name", entry.path.substr(1)},
                     {"size", entry.attr.size}});
    const std::string_view type = MediaType(entry.name);
    if (type != MediaType("")) list_.back()["mimeType"] = type;
    last_ = entry.path;
  }

  const BranchView& branch_;
  const ClientPaths& paths_;
  const std::stop_token stop_;
  Json list_ = Json::array();
  std::string last_;
};

}  // namespace

Result<Json> ListResources(const BranchView& branch, const ClientPaths& paths,
                           const std::string& cursor, std::stop_token stop) {
  std::string after;
  if (!cursor.empty()) {
    std::string decoded;
    if (!absl::WebSafeBase64Unescape(cursor, &decoded)) return Error(EINVAL, "no such cursor");
    auto normal = NormalizePath(decoded);
    if (!normal.ok() || *normal != decoded) return Error(EINVAL, "no such cursor");
    after = std::move(decoded);
  }
  ResourcePage page(branch, paths, std::move(stop));
  AGENTFS_TRY(page.Fill("/", after.empty() ? std::vector<std::string_view>() : SplitPath(after)));
  return page.Take();
}

Json ResourceTemplates(const ClientPaths& paths) {
  const std::string root = paths.ToUri("/");
  return {{"resourceTemplates",
           {{{"uriTemplate", root + (root.ends_with("/") ? "" : "/") + "{+path}"},
             {"name", "file"},
             {"title", "A file of the workspace"},
             {"description", "A file as the session's branch has it, by its path"}}}}};
}

Result<Json> ReadResource(const ToolCall& call, const std::string& uri) {
  AGENTFS_ASSIGN(const std::string path, call.paths.FromUri(uri));
  AGENTFS_ASSIGN(const std::string bytes, ReadWhole(call, path));
  const std::string type(MediaType(path));
  Json content = {{"uri", uri}};
  const auto text = call.files().ReadText(path, call.stop);
  if (text.ok()) {
    content["mimeType"] = type == MediaType("") ? "text/plain" : type;
    content["text"] = *text;
  } else {
    content["mimeType"] = type;
    content["blob"] = absl::Base64Escape(bytes);
  }
  return Json{{"contents", Json::array({std::move(content)})}};
}

}  // namespace agentfs::mcp
