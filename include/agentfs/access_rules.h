// SPDX-License-Identifier: Apache-2.0
//
// Which paths of a workspace may be read and written, whoever asks. A policy's filesystem
// permissions are such rules (src/policy/path_rules.h); vfs's GuardedFs holds every process to
// them.
#pragma once

#include <cstdint>
#include <string_view>

namespace agentfs {

enum class PathAccess : uint8_t { kRead, kWrite };

// Immutable; any number of threads may ask. Paths are normal paths of the workspace ("/src/a.c").
class AccessRules {
 public:
  virtual ~AccessRules() = default;
  virtual bool Allows(std::string_view path, PathAccess access) const = 0;
  // Whether everything that may lie beneath `from` would be treated the same beneath `to`, so that
  // moving a directory evades nothing.
  virtual bool SameBeneath(std::string_view from, std::string_view to) const = 0;
};

}  // namespace agentfs
