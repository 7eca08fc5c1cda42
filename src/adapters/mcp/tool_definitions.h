// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace agentfs::mcp {

// What tools/list says of a tool: name, title, description, schemas, annotations.
nlohmann::ordered_json ToolDefinition(std::string_view name);

}  // namespace agentfs::mcp
