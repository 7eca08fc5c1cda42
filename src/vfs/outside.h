// SPDX-License-Identifier: Apache-2.0
//
// Paths of a view that are outside of the workspace (docs/design/run.md).
#pragma once

#include <string_view>

namespace agentfs {

// Where a view has the host's own root, for what is copy-on-write outside of the workspace:
// "/.agentfs/host/etc/passwd".
inline constexpr std::string_view kHostPrefix = "/.agentfs/host";

// Whether it is outside of the workspace; and the path that people know it by.
inline bool IsOutside(std::string_view path) {
  return path.starts_with(kHostPrefix) &&
         (path.size() == kHostPrefix.size() || path[kHostPrefix.size()] == '/');
}
inline std::string_view KnownPath(std::string_view path) {
  if (!IsOutside(path)) return path;
  path.remove_prefix(kHostPrefix.size());
  return path.empty() ? "/" : path;
}

}  // namespace agentfs
