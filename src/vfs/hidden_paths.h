// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agentfs {

// Paths of a view that are to be absent, with all that is beneath them. Immutable.
class HiddenPaths {
 public:
  // Normal paths of a view ("/src/.env"; outside of the workspace "/.agentfs/host/etc/x"). The root
  // cannot be absent and is left out.
  explicit HiddenPaths(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      const size_t slash = path.rfind('/');
      if (slash == std::string::npos || slash + 1 == path.size()) continue;
      paths_.insert(path);
      names_.insert(path.substr(slash + 1));
    }
  }

  // Whether a path may be one of them: quick, for the many that are not.
  bool MayHide(std::string_view name) const { return names_.contains(name); }
  bool Hides(std::string_view path) const { return paths_.contains(path); }
  // Whether one of them is beneath the directory, whose path ends with '/'.
  bool HidesBeneath(std::string_view directory) const {
    const auto first = paths_.lower_bound(directory);
    return first != paths_.end() && first->starts_with(directory);
  }

 private:
  std::set<std::string, std::less<>> paths_, names_;  // the names are the last parts
};

}  // namespace agentfs
