// SPDX-License-Identifier: Apache-2.0
//
// What the scripts of sed and awk do, as far as that can be seen.
#pragma once

#include <string_view>

#include "policy/category.h"

namespace agentfs::policy {

// Host-escape risk for what runs commands or is not understood, mutating for what writes files.
CategorySet ClassifySed(std::string_view script);
CategorySet ClassifyAwk(std::string_view script);

}  // namespace agentfs::policy
