// SPDX-License-Identifier: Apache-2.0
//
// Which paths may be read and written: the filesystem permissions of a policy, compiled. Immutable;
// any number of threads may ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentfs/access_rules.h"
#include "agentfs/result.h"
#include "base/path_glob.h"

namespace agentfs::policy {

using Access = PathAccess;

// What a policy file says about paths, as globs (base/path_glob.h).
struct PathRuleTexts {
  std::vector<std::string> deny_read;
  std::vector<std::string> deny_write;
  std::vector<std::string> allow_write;
};

struct PathVerdict {
  bool allowed = true;
  std::string_view rule;  // "deny_read", "deny_write" or "allow_write"; empty: none decided
  std::string_view glob;  // the one that matched; empty where none of allow_write did
};

class PathRules {
 public:
  // EINVAL, with the list and the glob, for what is no glob.
  static Result<PathRules> Compile(const PathRuleTexts& texts);

  // `path` is a normal path of the workspace ("/src/a.c"). A denied directory denies all that is in
  // it. What may not be read may not be written; where there is an allow_write, nothing else may be
  // written; a denial beats a permission. The views point into this object.
  PathVerdict Check(std::string_view path, Access access) const;
  // Whether what is beneath one directory would be denied beneath the other, and only then.
  bool SameBeneath(std::string_view directory, std::string_view other) const;
  bool empty() const { return deny_read_.empty() && deny_write_.empty() && allow_write_.empty(); }

 private:
  std::vector<PathGlob> deny_read_, deny_write_, allow_write_;
};

}  // namespace agentfs::policy
