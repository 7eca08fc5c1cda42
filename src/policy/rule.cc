// SPDX-License-Identifier: Apache-2.0
#include "policy/rule.h"

#include <algorithm>

#include "policy/arguments.h"

namespace agentfs::policy {
namespace {

// Where the examples of rules run.
Surroundings ExampleSurroundings() {
  Surroundings surroundings;
  surroundings.root = surroundings.directory = "/workspace";
  surroundings.home = "/home/user";
  return surroundings;
}

// No wish, or one that fits.
template <typename List, typename Fits>
bool AnyFits(const List& list, Fits fits) {
  return list.empty() || std::any_of(list.begin(), list.end(), fits);
}

bool ProgramFits(const std::string& glob, const Part& part) {
  return NameMatches(glob, part.program) || NameMatches(glob, WithoutVersion(part.program));
}

bool SubcommandFits(const std::string& glob, const Part& part) {
  std::string name = part.subcommand;
  if (name.empty() && !part.arguments.empty()) name = part.arguments[0];
  return NameMatches(glob, name) || NameMatches(glob, name.substr(0, name.find(' ')));
}

bool FlagFits(const std::string& flag, const Part& part) {
  return std::any_of(part.flags.begin(), part.flags.end(),
                     [&](const std::string& written) { return IsFlag(written, flag); });
}

bool PathFits(const PathGlob& glob, const Part& part, const Surroundings& surroundings) {
  return std::any_of(part.paths.begin(), part.paths.end(), [&](const PathUse& use) {
    return glob.MatchesOrHolds(PolicyPath(use.path, surroundings));
  });
}

}  // namespace

std::string PolicyPath(const std::string& path, const Surroundings& surroundings) {
  const std::string& root = surroundings.root;
  if (root == "/" || path == root) return path == root ? "/" : path;
  if (path.starts_with(root) && path[root.size()] == '/') return path.substr(root.size());
  return path;
}

bool Rule::Matches(const Part& part, const Surroundings& surroundings) const {
  return AnyFits(programs, [&](const auto& glob) { return ProgramFits(glob, part); }) &&
         AnyFits(subcommands, [&](const auto& glob) { return SubcommandFits(glob, part); }) &&
         AnyFits(flags, [&](const auto& flag) { return FlagFits(flag, part); }) &&
         AnyFits(paths, [&](const auto& glob) { return PathFits(glob, part, surroundings); }) &&
         AnyFits(categories, [&](Category each) { return part.categories.Has(each); }) &&
         AnyFits(purposes, [&](Purpose each) { return part.purpose == each; });
}

Result<void> Rule::CheckExamples() const {
  const Surroundings surroundings = ExampleSurroundings();
  const auto matches = [&](const std::string& text) {
    const auto parts = ClassifyText(text, surroundings).parts;
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return Matches(part, surroundings); });
  };
  for (const std::string& example : match) {
    if (!matches(example))
      return Error(EINVAL, "it does not match its example \"" + example + "\"");
  }
  for (const std::string& example : not_match) {
    if (matches(example)) {
      return Error(EINVAL, "it matches \"" + example + "\", which it should not");
    }
  }
  return Ok();
}

}  // namespace agentfs::policy
