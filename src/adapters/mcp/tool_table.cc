// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "adapters/mcp/tool_definitions.h"
#include "adapters/mcp/tools.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;
using Effect = Tool::Effect;
using Duration = Tool::Duration;

constexpr std::array kTools = {
    Tool{"read_file", ReadTextFile, Effect::kReads, Duration::kShort},
    Tool{"read_text_file", ReadTextFile, Effect::kReads, Duration::kShort},
    Tool{"read_media_file", ReadMediaFile, Effect::kReads, Duration::kShort},
    Tool{"read_multiple_files", ReadMultipleFiles, Effect::kReads, Duration::kLong},
    Tool{"write_file", WriteFile, Effect::kEdits, Duration::kShort},
    Tool{"edit_file", EditFile, Effect::kEdits, Duration::kShort},
    Tool{"create_directory", CreateDirectory, Effect::kEdits, Duration::kShort},
    Tool{"list_directory", ListDirectory, Effect::kReads, Duration::kShort},
    Tool{"list_directory_with_sizes", ListDirectoryWithSizes, Effect::kReads, Duration::kShort},
    Tool{"directory_tree", DirectoryTree, Effect::kReads, Duration::kLong},
    Tool{"move_file", MoveFile, Effect::kEdits, Duration::kShort},
    Tool{"search_files", SearchFiles, Effect::kReads, Duration::kLong},
    Tool{"get_file_info", GetFileInfo, Effect::kReads, Duration::kShort},
    Tool{"list_allowed_directories", ListAllowedDirectories, Effect::kReads, Duration::kShort},
    Tool{"delete_file", DeleteFile, Effect::kEdits, Duration::kShort},
    Tool{"copy_file", CopyFile, Effect::kEdits, Duration::kShort},
    Tool{"exec", ExecCommand, Effect::kChanges, Duration::kLong, true},
    Tool{"snapshot", TakeSnapshot, Effect::kChanges, Duration::kShort},
    Tool{"restore", RestoreBranch, Effect::kChanges, Duration::kShort},
    Tool{"undo", UndoLast, Effect::kChanges, Duration::kShort},
    Tool{"diff", ShowDiff, Effect::kReads, Duration::kLong},
    Tool{"branch_create", CreateBranch, Effect::kChanges, Duration::kShort},
    Tool{"branch_list", ListBranches, Effect::kReads, Duration::kShort},
    Tool{"branch_switch", SwitchBranch, Effect::kReads, Duration::kShort},
    Tool{"history", ShowHistory, Effect::kReads, Duration::kShort},
    Tool{"query", QueryWorkspace, Effect::kReads, Duration::kLong},
};

const std::map<std::string, const Json*, std::less<>>& InputSchemas() {
  static const auto* const schemas = [] {
    auto* all = new std::map<std::string, const Json*, std::less<>>();
    for (const Json& tool : ToolDefinitions()["tools"]) {
      all->emplace(tool["name"].get<std::string>(), &tool["inputSchema"]);
    }
    return all;
  }();
  return *schemas;
}

bool HasType(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") return value.is_number_integer();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

Result<void> CheckValue(const Json& schema, const Json& value, const std::string& place);

Result<void> CheckObject(const Json& schema, const Json& value, const std::string& place) {
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) {
      return Error(EINVAL, "Required at " + place + name.get<std::string>());
    }
  }
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, part] : properties.items()) {
    if (value.contains(name)) AGENTFS_TRY(CheckValue(part, value[name], place + name));
  }
  return Ok();
}

Result<void> CheckArray(const Json& schema, const Json& value, const std::string& place) {
  if (value.size() < schema.value("minItems", size_t{0})) {
    return Error(EINVAL, "Too few items at " + place);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    AGENTFS_TRY(CheckValue(schema["items"], value[i], place + "[" + std::to_string(i) + "]"));
  }
  return Ok();
}

// As much of JSON Schema as our own schemas use.
Result<void> CheckValue(const Json& schema, const Json& value, const std::string& place) {
  const std::string type = schema["type"].get<std::string>();
  if (!HasType(value, type)) {
    return Error(EINVAL, "Expected " + type + ", received " + value.type_name() + " at " + place);
  }
  if (schema.contains("minimum") && value < schema["minimum"]) {
    return Error(EINVAL, "Too small a number at " + place);
  }
  if (schema.contains("enum")) {
    const Json& allowed = schema["enum"];
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
      return Error(EINVAL, "Invalid value at " + place + ": one of " + allowed.dump());
    }
  }
  if (type == "object") return CheckObject(schema, value, place.empty() ? "" : place + ".");
  return type == "array" ? CheckArray(schema, value, place) : Ok();
}

}  // namespace

const Tool* FindTool(std::string_view name) {
  const auto found = std::find_if(kTools.begin(), kTools.end(),
                                  [&](const Tool& tool) { return tool.name == name; });
  return found == kTools.end() ? nullptr : &*found;
}

const Json& ToolDefinitions() {
  static const auto* const definitions = [] {
    auto* all = new Json({{"tools", Json::array()}});
    for (const Tool& tool : kTools) (*all)["tools"].push_back(ToolDefinition(tool.name));
    return all;
  }();
  return *definitions;
}

Result<void> CheckArguments(const Tool& tool, const Json& arguments) {
  auto checked = CheckValue(*InputSchemas().at(std::string(tool.name)), arguments, "");
  if (checked.ok()) return checked;
  return Error(EINVAL, "MCP error -32602: Input validation error: Invalid arguments for tool " +
                           std::string(tool.name) + ": " + checked.error().message());
}

}  // namespace agentfs::mcp
