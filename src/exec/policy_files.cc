// SPDX-License-Identifier: Apache-2.0
#include "exec/policy_files.h"

#include <unistd.h>

#include "agentfs/path.h"
#include "base/environment.h"
#include "policy/policy_file.h"
#include "sys/small_file.h"

namespace agentfs {
namespace {

constexpr std::string_view kPolicyFile = "policy.toml";

// "~/x" as an absolute path; empty: there is no home directory.
std::string Expanded(const std::string& path, const std::string& home) {
  if (!path.starts_with("~")) return path;
  return home.empty() ? "" : home + path.substr(1);
}

std::string Normal(const std::string& path) {
  auto normal = NormalizePath(path);
  return normal.ok() ? std::move(*normal) : "/";
}

// A directory that cannot be looked into is somebody else's home (su keeps $HOME in places): who
// runs has no policy there. A file that is there and cannot be read is a mistake that must be told.
bool IsMissing(const std::string& path, int code) {
  if (code == ENOENT || code == ENOTDIR) return true;
  const std::string directory = path.substr(0, path.rfind('/'));
  return code == EACCES && ::access(directory.c_str(), X_OK) != 0;
}

}  // namespace

std::vector<PolicyFile> PolicyFiles(const std::optional<Workspace>& workspace) {
  std::vector<PolicyFile> files;
  if (workspace && !workspace->layout.config.empty()) {
    const std::string& config = workspace->layout.config;
    files.push_back({config.substr(0, config.rfind('/') + 1) + std::string(kPolicyFile),
                     policy::Origin::kWorkspace});
  }
  std::string directory = Environment("XDG_CONFIG_HOME");
  const std::string home = Environment("HOME");
  if (directory.empty() && !home.empty()) directory = home + "/.config";
  if (!directory.empty()) {
    files.push_back({directory + "/agentfs/" + std::string(kPolicyFile), policy::Origin::kUser});
  }
  return files;
}

Result<policy::Policy> LoadPolicy(const PolicyFile& file) {
  AGENTFS_ASSIGN(const std::string text, ReadSmallFile(file.path));
  return policy::ParsePolicy(text, file.path, file.origin);
}

Result<policy::PolicySet> LoadPolicies(const std::optional<Workspace>& workspace) {
  std::vector<policy::Policy> policies;
  for (const PolicyFile& file : PolicyFiles(workspace)) {
    auto loaded = LoadPolicy(file);
    if (IsMissing(file.path, loaded.code())) continue;
    if (!loaded.ok()) return loaded.error();
    policies.push_back(std::move(*loaded));
  }
  return policy::PolicySet(std::move(policies));
}

policy::PolicyRequest PolicyRequestIn(const std::optional<Workspace>& workspace,
                                      const std::string& directory) {
  policy::PolicyRequest request;
  policy::Surroundings& surroundings = request.surroundings;
  const std::string home = Environment("HOME");
  surroundings.directory = Normal(directory);
  surroundings.home = home.empty() ? "" : Normal(home);
  surroundings.root = surroundings.directory;
  if (!workspace) return request;
  if (!workspace->layout.base.empty()) surroundings.root = Normal(workspace->layout.base);
  const SandboxRules& sandbox = workspace->config.sandbox;
  for (const auto* list : {&sandbox.cow, &sandbox.allow}) {
    for (const std::string& path : *list) {
      const std::string absolute = Expanded(path, home);
      if (!absolute.empty()) surroundings.writable.push_back(Normal(absolute));
    }
  }
  if (!sandbox.network) request.network = policy::Network::kDeny;
  return request;
}

}  // namespace agentfs
