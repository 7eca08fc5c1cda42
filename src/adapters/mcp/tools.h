// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the tools, by file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "adapters/mcp/tool.h"

namespace agentfs::mcp {

// read_tools.cc
Result<nlohmann::ordered_json> ReadTextFile(ToolCall& call);
Result<nlohmann::ordered_json> ReadMediaFile(ToolCall& call);
Result<nlohmann::ordered_json> ReadMultipleFiles(ToolCall& call);
// write_tools.cc
Result<nlohmann::ordered_json> WriteFile(ToolCall& call);
Result<nlohmann::ordered_json> EditFile(ToolCall& call);
Result<nlohmann::ordered_json> CreateDirectory(ToolCall& call);
Result<nlohmann::ordered_json> MoveFile(ToolCall& call);
Result<nlohmann::ordered_json> CopyFile(ToolCall& call);
Result<nlohmann::ordered_json> DeleteFile(ToolCall& call);
// list_tools.cc
Result<nlohmann::ordered_json> ListDirectory(ToolCall& call);
Result<nlohmann::ordered_json> ListDirectoryWithSizes(ToolCall& call);
Result<nlohmann::ordered_json> GetFileInfo(ToolCall& call);
Result<nlohmann::ordered_json> ListAllowedDirectories(ToolCall& call);
// tree_tools.cc
Result<nlohmann::ordered_json> DirectoryTree(ToolCall& call);
Result<nlohmann::ordered_json> SearchFiles(ToolCall& call);
// exec_tool.cc
Result<nlohmann::ordered_json> ExecCommand(ToolCall& call);
// workspace_tools.cc
Result<nlohmann::ordered_json> TakeSnapshot(ToolCall& call);
Result<nlohmann::ordered_json> RestoreBranch(ToolCall& call);
Result<nlohmann::ordered_json> UndoLast(ToolCall& call);
Result<nlohmann::ordered_json> ShowDiff(ToolCall& call);
Result<nlohmann::ordered_json> ShowHistory(ToolCall& call);
Result<nlohmann::ordered_json> QueryWorkspace(ToolCall& call);
Result<nlohmann::ordered_json> CreateBranch(ToolCall& call);
Result<nlohmann::ordered_json> ListBranches(ToolCall& call);
Result<nlohmann::ordered_json> SwitchBranch(ToolCall& call);

}  // namespace agentfs::mcp
