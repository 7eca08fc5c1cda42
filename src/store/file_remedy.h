// SPDX-License-Identifier: Apache-2.0
//
// What a person can do when a store's file cannot be used.
#pragma once

#include <string_view>

namespace agentfs {

// For an errno that any store's file may give; empty: there is nothing to say.
std::string_view FileRemedy(int code);

}  // namespace agentfs
