// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "adapters/mcp/tools.h"
#include "base/time_text.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

struct Sized {
  std::string name;
  bool directory = false;
  uint64_t size = 0;
};

std::string_view KindMark(bool directory) { return directory ? "[DIR]" : "[FILE]"; }

// As clients know it: 1.50 KB, in steps of 1024.
std::string SizeText(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

Result<std::vector<FileEntry>> EntriesOf(const ToolCall& call, const std::string& path) {
  auto entries = call.files().ListEntries(path);
  if (!entries.ok()) return FileError(entries.error(), call.paths.ToClient(path));
  return entries;
}

Sized WithSize(const ToolCall& call, const FileEntry& entry) {
  Sized sized{entry.name, S_ISDIR(entry.attr.mode), entry.attr.size};
  if (!S_ISLNK(entry.attr.mode)) return sized;
  const auto target = call.files().Entry(entry.path, FollowLinks::kYes);
  sized.size = target.ok() ? target->attr.size : 0;
  return sized;
}

std::string PermissionText(uint32_t mode) { return fmt::format("{:03o}", mode & 0777); }

}  // namespace

Result<Json> ListDirectory(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  AGENTFS_ASSIGN(const auto entries, EntriesOf(call, path));
  std::string text;
  for (const FileEntry& entry : entries) {
    if (!text.empty()) text += '\n';
    text.append(KindMark(S_ISDIR(entry.attr.mode))).append(" ").append(entry.name);
  }
  return TextResult(std::move(text));
}

Result<Json> ListDirectoryWithSizes(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  AGENTFS_ASSIGN(const auto entries, EntriesOf(call, path));
  std::vector<Sized> all;
  for (const FileEntry& entry : entries) all.push_back(WithSize(call, entry));
  if (call.arguments.value("sortBy", "name") == "size") {
    std::stable_sort(all.begin(), all.end(),
                     [](const Sized& a, const Sized& b) { return a.size > b.size; });
  }
  std::string text;
  uint64_t directories = 0, bytes = 0;
  for (const Sized& each : all) {
    directories += each.directory ? 1 : 0;
    bytes += each.directory ? 0 : each.size;
    text += fmt::format("{} {:<30} {}\n", KindMark(each.directory), each.name,
                        each.directory ? "" : fmt::format("{:>10}", SizeText(each.size)));
  }
  text += fmt::format("\nTotal: {} files, {} directories\nCombined size: {}",
                      all.size() - directories, directories, SizeText(bytes));
  return TextResult(std::move(text));
}

Result<Json> GetFileInfo(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  const auto entry = call.files().Entry(path, FollowLinks::kYes);
  if (!entry.ok()) return FileError(entry.error(), call.paths.ToClient(path));
  const Attr& attr = entry->attr;
  return TextResult(
      fmt::format("size: {}\ncreated: {}\nmodified: {}\naccessed: {}\nisDirectory: {}\nisFile: {}\n"
                  "permissions: {}",
                  attr.size, FormatTime(attr.btime), FormatTime(attr.mtime), FormatTime(attr.atime),
                  S_ISDIR(attr.mode), S_ISREG(attr.mode), PermissionText(attr.mode)));
}

Result<Json> ListAllowedDirectories(ToolCall& call) {
  return TextResult("Allowed directories:\n" + call.paths.directory());
}

}  // namespace agentfs::mcp
