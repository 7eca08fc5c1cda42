// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "policy/shell/syntax.h"

namespace agentfs::shell {

// A script in one line, for comparing: words in [], what is not literal with a '?', pipes as |,
// pipelines apart by ';', bodies and substitutions in {}, redirections as <, >, & (a duplicate),
// << and <<< before their target.
std::string Describe(const Script& script);
// The same for a text; "error" if it is none.
std::string DescribeText(std::string_view text);

}  // namespace agentfs::shell
