// SPDX-License-Identifier: Apache-2.0
//
// The table of commands.txt.
#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"

namespace agentfs::policy {

struct CommandCase {
  std::string text;
  Action action = Action::kAllow;
  CategorySet categories;
  int line = 0;
};

// All of them; fails the test for what is no table.
std::vector<CommandCase> ReadCommandTable();

// A request as the table's head describes it.
PolicyRequest RequestFor(const std::string& text);

// "mutating networked".
std::string NamesOf(CategorySet categories);

}  // namespace agentfs::policy
