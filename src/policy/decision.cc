// SPDX-License-Identifier: Apache-2.0
#include "policy/decision.h"

#include <array>

namespace agentfs::policy {
namespace {

constexpr std::array<std::string_view, 4> kActionNames = {"allow", "allow_with_checkpoint",
                                                          "require_approval", "deny"};

}  // namespace

std::string_view ActionName(Action action) { return kActionNames[static_cast<size_t>(action)]; }

std::optional<Action> ActionNamed(std::string_view name) {
  for (size_t i = 0; i < kActionNames.size(); ++i) {
    if (kActionNames[i] == name) return static_cast<Action>(i);
  }
  return std::nullopt;
}

}  // namespace agentfs::policy
