// SPDX-License-Identifier: Apache-2.0
#include "policy/path_rules.h"

#include <algorithm>

namespace agentfs::policy {
namespace {

Result<std::vector<PathGlob>> CompileAll(std::string_view list,
                                         const std::vector<std::string>& texts) {
  std::vector<PathGlob> globs;
  for (const std::string& text : texts) {
    auto glob = PathGlob::Compile(text);
    if (!glob.ok()) return glob.error().WithContext(std::string(list) + " \"" + text + "\"");
    globs.push_back(std::move(*glob));
  }
  return globs;
}

const PathGlob* FirstMatch(const std::vector<PathGlob>& globs, std::string_view path) {
  for (const PathGlob& glob : globs) {
    if (glob.MatchesOrHolds(path)) return &glob;
  }
  return nullptr;
}

}  // namespace

Result<PathRules> PathRules::Compile(const PathRuleTexts& texts) {
  PathRules rules;
  AGENTFS_ASSIGN(rules.deny_read_, CompileAll("deny_read", texts.deny_read));
  AGENTFS_ASSIGN(rules.deny_write_, CompileAll("deny_write", texts.deny_write));
  AGENTFS_ASSIGN(rules.allow_write_, CompileAll("allow_write", texts.allow_write));
  return rules;
}

PathVerdict PathRules::Check(std::string_view path, Access access) const {
  if (const PathGlob* glob = FirstMatch(deny_read_, path)) {
    return {false, "deny_read", glob->text()};
  }
  if (access == Access::kRead) return {};
  if (const PathGlob* glob = FirstMatch(deny_write_, path)) {
    return {false, "deny_write", glob->text()};
  }
  if (allow_write_.empty()) return {};
  const PathGlob* glob = FirstMatch(allow_write_, path);
  return {glob != nullptr, "allow_write", glob != nullptr ? glob->text() : std::string_view()};
}

// What allow_write permits it permits with all that is in it, so it says nothing of beneath.
bool PathRules::SameBeneath(std::string_view directory, std::string_view other) const {
  const auto same = [&](const PathGlob& glob) { return glob.SameBeneath(directory, other); };
  return std::all_of(deny_read_.begin(), deny_read_.end(), same) &&
         std::all_of(deny_write_.begin(), deny_write_.end(), same);
}

}  // namespace agentfs::policy
