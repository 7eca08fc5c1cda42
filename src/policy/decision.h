// SPDX-License-Identifier: Apache-2.0
//
// The answer to "may this run?".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/category.h"

namespace agentfs::policy {

// From the least to the most strict.
enum class Action : uint8_t { kAllow, kAllowWithCheckpoint, kRequireApproval, kDeny };

// "allow", "allow_with_checkpoint", "require_approval", "deny".
std::string_view ActionName(Action action);
std::optional<Action> ActionNamed(std::string_view name);

struct ExecutionDecision {
  Action action = Action::kAllow;
  CategorySet categories;
  std::string rule;    // "builtin:publish": the file's kind and the rule's name
  std::string reason;  // for a person: which part, and why

  bool allowed() const { return action <= Action::kAllowWithCheckpoint; }
};

}  // namespace agentfs::policy
