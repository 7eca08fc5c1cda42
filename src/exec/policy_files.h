// SPDX-License-Identifier: Apache-2.0
//
// Which policies are in force, and where a command would run: what deciding needs to know of the
// world.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "policy/policy.h"
#include "workspace/workspace.h"

namespace agentfs {

struct PolicyFile {
  std::string path;
  policy::Origin origin = policy::Origin::kUser;
};

// The files that may hold policies, the workspace's first; without one, only the user's.
std::vector<PolicyFile> PolicyFiles(const std::optional<Workspace>& workspace);

// ENOENT if there is no such file; EINVAL, with file and line, for what is no policy.
Result<policy::Policy> LoadPolicy(const PolicyFile& file);

// What the files say, with the built-in policy; files that are missing say nothing.
Result<policy::PolicySet> LoadPolicies(const std::optional<Workspace>& workspace);

// A request that would run in `directory` (absolute), in the sandbox that the workspace's
// configuration describes; without a workspace, in one of that directory alone.
policy::PolicyRequest PolicyRequestIn(const std::optional<Workspace>& workspace,
                                      const std::string& directory);

}  // namespace agentfs
