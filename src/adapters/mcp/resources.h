// SPDX-License-Identifier: Apache-2.0
//
// The files of a branch as resources of the protocol.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>

#include "adapters/mcp/client_paths.h"
#include "adapters/mcp/tool.h"
#include "agentfs/result.h"

namespace agentfs::mcp {

// The result of resources/list: a page of files, in the order of a walk, after `cursor` (empty:
// from the start). What is below a `.git` is not listed, but can be read. EINVAL: the cursor.
Result<nlohmann::ordered_json> ListResources(const BranchView& branch, const ClientPaths& paths,
                                             const std::string& cursor, std::stop_token stop);
// The result of resources/templates/list.
nlohmann::ordered_json ResourceTemplates(const ClientPaths& paths);
// The result of resources/read: text, or base64 of what is none. ENOENT: there is no such file.
Result<nlohmann::ordered_json> ReadResource(const ToolCall& call, const std::string& uri);

}  // namespace agentfs::mcp
