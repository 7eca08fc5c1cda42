// SPDX-License-Identifier: Apache-2.0
//
// Globs over paths: * and ? within a name, [a-z] and [!a-z], {a,b}, ** for any number of names, and
// a backslash before what is meant literally. A glob that begins with "/" is about the whole path;
// another one may begin at any name of it. Matching takes time proportional to glob times path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs {

class PathGlob {
 public:
  // EINVAL: empty, an unclosed [ or {, or more than 64 alternatives.
  static Result<PathGlob> Compile(std::string_view glob);

  const std::string& text() const { return text_; }
  // Whether a normal path ("/a/b") is meant.
  bool Matches(std::string_view path) const;
  // Whether the path or a directory above it is meant.
  bool MatchesOrHolds(std::string_view path) const;
  // Whether it means the same of what may lie beneath either directory.
  bool SameBeneath(std::string_view directory, std::string_view other) const;

 private:
  using Names = std::vector<std::string>;

  std::string text_;
  std::vector<Names> alternatives_;
};

// Whether one name, without slashes, matches a glob of one name (no braces, no **).
bool NameMatches(std::string_view glob, std::string_view name);

}  // namespace agentfs
