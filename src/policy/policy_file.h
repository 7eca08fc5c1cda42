// SPDX-License-Identifier: Apache-2.0
//
// Policies as text: TOML, as agentfs-policy(5) describes it.
#pragma once

#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "policy/policy.h"

namespace agentfs::policy {

// EINVAL with file, line and rule for what is no TOML, an unknown key, a value of the wrong kind, a
// glob that is none, and an example that its rule treats wrongly.
Result<Policy> ParsePolicy(std::string_view text, const std::string& file, Origin origin);

}  // namespace agentfs::policy
