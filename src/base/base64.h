// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agentfs {

// RFC 4648, with padding.
std::string Base64(std::string_view bytes);
// None: it is not that.
std::optional<std::string> BytesOfBase64(std::string_view text);

}  // namespace agentfs
