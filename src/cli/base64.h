// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace agentfs::cli {

// RFC 4648, with padding.
std::string Base64(std::string_view bytes);

}  // namespace agentfs::cli
