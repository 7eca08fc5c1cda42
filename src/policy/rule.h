// SPDX-License-Identifier: Apache-2.0
//
// A rule of a policy: which parts of a command it is about, and what is to happen with them.
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "base/path_glob.h"
#include "policy/classify.h"
#include "policy/decision.h"

namespace agentfs::policy {

// Every list that is not empty must have an element that fits.
struct Rule {
  std::string name;
  std::vector<std::string> programs;     // globs for the program's name
  std::vector<std::string> subcommands;  // globs; "remote" is "remote add", too
  std::vector<std::string> flags;        // "-f", "--force"
  std::vector<PathGlob> paths;           // of the paths that the part names
  std::vector<Category> categories;
  std::vector<Purpose> purposes;
  Action action = Action::kDeny;
  std::string justification;
  std::vector<std::string> match, not_match;  // shell text
  std::vector<std::string> overrides;         // names of built-in rules that do not apply then
  int line = 0;                               // in its file

  bool Matches(const Part& part, const Surroundings& surroundings) const;
  // EINVAL: the first example that the rule treats wrongly.
  Result<void> CheckExamples() const;
};

// A path as a policy's globs see it: from the workspace's root if it is below it.
std::string PolicyPath(const std::string& path, const Surroundings& surroundings);

}  // namespace agentfs::policy
