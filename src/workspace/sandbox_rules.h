// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace agentfs {

// What a person asks a sandbox to show where, in config.toml or by flags. Paths are absolute, or
// below "~".
struct SandboxRules {
  // Copy-on-write, in the branch. One of config.toml that ends with a slash is a directory that the
  // branch gets an empty one of if the host has none.
  std::vector<std::string> cow;
  std::vector<std::string> allow;  // the real ones, writable
  std::vector<std::string> hide;
  bool network = true;

  // Private keys are hidden; agents' own directories and programs' caches are copy-on-write.
  static SandboxRules Default();
  friend bool operator==(const SandboxRules&, const SandboxRules&) = default;
};

}  // namespace agentfs
