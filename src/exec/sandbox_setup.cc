// SPDX-License-Identifier: Apache-2.0
#include "exec/sandbox_setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/environment.h"
#include "sys/own_namespace.h"

namespace agentfs {
namespace {

PathKind KindOf(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return PathKind::kAbsent;
  return S_ISDIR(st.st_mode) ? PathKind::kDirectory : PathKind::kFile;
}

// What cannot be looked at (a mount whose server is gone) cannot be shown either.
std::vector<HostEntry> ListHost(const std::string& directory, size_t limit) {
  std::vector<HostEntry> entries;
  std::error_code error;
  auto at = std::filesystem::directory_iterator(directory, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    if (entries.size() == limit) return {};
    std::error_code failed;
    HostEntry entry{at->path().filename(), {}};
    if (at->is_symlink(failed)) entry.target = std::filesystem::read_symlink(at->path(), failed);
    struct stat st;
    if (!failed && ::lstat(at->path().c_str(), &st) == 0) entries.push_back(std::move(entry));
  }
  return error ? std::vector<HostEntry>() : entries;
}

SandboxFacts FactsOf(const Workspace& workspace, const BranchPlace& place) {
  SandboxFacts facts;
  facts.workspace = workspace.layout.base;
  facts.view = place.session + "/branches/" + place.branch;
  facts.host_view = place.session + "/host/" + place.branch;
  facts.secrets = {std::filesystem::path(workspace.layout.database).parent_path(),
                   std::filesystem::path(place.session).parent_path()};
  const std::string home = Environment("HOME");
  facts.home = AbsolutePath(home.empty() ? "/root" : home);
  facts.is_root = ::geteuid() == 0;
  facts.kind_of = KindOf;
  facts.list = ListHost;
  return facts;
}

// Links in the paths of config.toml lead to what is meant.
SandboxRules Resolved(SandboxRules rules, const std::string& home) {
  for (auto* paths : {&rules.cow, &rules.allow, &rules.hide}) {
    for (std::string& path : *paths) {
      if (path == "~" || path.starts_with("~/")) path = home + path.substr(1);
      path = AbsolutePath(path);
    }
  }
  return rules;
}

}  // namespace

Result<void> CheckOutsideOfSandbox(const std::string& what) {
  if (Environment("AGENTFS") != "1") return Ok();
  return Error(EOPNOTSUPP, what + ": this is a sandbox of agentfs already",
               "run it outside, in a branch of its own");
}

Result<void> CheckHasBase(const std::string& what, const Workspace& workspace) {
  if (!workspace.layout.base.empty()) return Ok();
  return Error(EOPNOTSUPP, what + ": " + workspace.layout.root + " has no directory to run in",
               "'agentfs mount' shows a bare workspace at one");
}

Result<SandboxedCommand> SetUpSandbox(const Workspace& workspace, const BranchPlace& place,
                                      const std::string& bubblewrap, const SandboxWish& wish) {
  if (place.namespaces_of != 0) AGENTFS_TRY(JoinNamespacesOf(place.namespaces_of));
  const SandboxFacts facts = FactsOf(workspace, place);
  SandboxedCommand command;
  AGENTFS_ASSIGN(command.plan, MakeSandboxPlan(Resolved(workspace.config.sandbox, facts.home),
                                               wish.rules, facts));
  command.plan.read_only = wish.read_only;
  command.bubblewrap = bubblewrap;
  command.inner_program = place.inner_program;
  command.command = wish.command;
  command.environment = wish.environment;
  command.inherited = wish.inherited;
  command.environment.insert(
      command.environment.end(),
      {"AGENTFS=1", "AGENTFS_WORKSPACE=" + facts.workspace, "AGENTFS_BRANCH=" + place.branch,
       "AGENTFS_EXEC=" + std::to_string(place.exec)});
  command.directory = IsVisible(command.plan, wish.directory) ? wish.directory : facts.workspace;
  command.fallback = facts.workspace;
  return command;
}

}  // namespace agentfs
