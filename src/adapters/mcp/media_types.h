// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace agentfs::mcp {

// The type of an image or a sound by the end of its name; "application/octet-stream" for others.
std::string_view MediaType(std::string_view path);

}  // namespace agentfs::mcp
