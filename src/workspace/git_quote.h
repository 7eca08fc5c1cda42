// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace agentfs {

// A path as git writes it: as it is, or in double quotes with C escapes where a line of text could
// not carry it: control characters, quotes, backslashes, bytes that are not UTF-8.
std::string GitQuote(std::string_view path);

}  // namespace agentfs
