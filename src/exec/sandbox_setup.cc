// SPDX-License-Identifier: Apache-2.0
#include "exec/sandbox_setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/environment.h"
#include "exec/git_elsewhere.h"
#include "sys/own_namespace.h"

namespace agentfs {
namespace {

PathKind KindOf(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return PathKind::kAbsent;
  return S_ISDIR(st.st_mode) ? PathKind::kDirectory : PathKind::kFile;
}

// What cannot be looked at (a mount whose server is gone) cannot be shown either.
std::optional<std::vector<HostEntry>> ListHost(const std::string& directory, size_t limit) {
  std::vector<HostEntry> entries;
  std::error_code error;
  auto at = std::filesystem::directory_iterator(directory, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    if (entries.size() == limit) return std::nullopt;
    std::error_code failed;
    HostEntry entry{at->path().filename(), {}};
    if (at->is_symlink(failed)) entry.target = std::filesystem::read_symlink(at->path(), failed);
    struct stat st;
    if (!failed && ::lstat(at->path().c_str(), &st) == 0) entries.push_back(std::move(entry));
  }
  if (error) return std::nullopt;
  return entries;
}

std::string Home() {
  const std::string home = Environment("HOME");
  return AbsolutePath(home.empty() ? "/root" : home);
}

SandboxFacts FactsOf(const Workspace& workspace, const BranchPlace& place) {
  SandboxFacts facts;
  facts.workspace = workspace.layout.base;
  facts.view = place.session + "/branches/" + place.branch;
  facts.host_view = place.session + "/host/" + place.branch;
  facts.secrets = {std::filesystem::path(workspace.layout.database).parent_path(),
                   std::filesystem::path(place.session).parent_path()};
  facts.absent = place.absent;
  facts.home = Home();
  facts.is_root = ::geteuid() == 0;
  facts.kind_of = KindOf;
  facts.list = ListHost;
  return facts;
}

std::string FromHome(const std::string& path, const std::string& home) {
  return path == "~" || path.starts_with("~/") ? home + path.substr(1) : path;
}

// The name itself, without following it.
std::string AbsoluteName(const std::string& path) {
  std::error_code error;
  std::filesystem::path name = std::filesystem::absolute(path, error).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  if (name == "/") return name;
  return std::filesystem::path(AbsolutePath(name.parent_path())) / name.filename();
}

// The workspace's own. The repository comes first: whatever else is said of its path wins.
SandboxRules RulesOf(const Workspace& workspace) {
  const std::vector<std::string>& asked = workspace.config.sandbox.cow;
  SandboxRules rules = ResolveRules(workspace.config.sandbox);
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].ends_with("/") && rules.cow[i] != "/") rules.cow[i] += '/';
  }
  const std::string repository = GitElsewhere(workspace.layout.base);
  if (!repository.empty()) rules.cow.insert(rules.cow.begin(), repository);
  return rules;
}

// What cannot be made is left out, so that the command is not refused for want of a cache.
void MakeWhatIsMissing(SandboxPlan& plan) {
  for (const std::string& directory : plan.made) {
    if (!plan.read_only) ::mkdir(directory.c_str(), 0755);
    if (KindOf(directory) != PathKind::kAbsent) continue;
    std::erase_if(plan.mounts, [&](const auto& mount) { return mount.source == directory; });
  }
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

SandboxRules ResolveRules(SandboxRules rules) {
  const std::string home = Home();
  for (auto* paths : {&rules.cow, &rules.allow}) {
    for (std::string& path : *paths) path = AbsolutePath(FromHome(path, home));
  }
  std::vector<std::string> hidden;
  for (const std::string& path : rules.hide) {
    hidden.push_back(AbsolutePath(FromHome(path, home)));
    const std::string name = AbsoluteName(FromHome(path, home));
    if (name != hidden.back()) hidden.push_back(name);
  }
  rules.hide = std::move(hidden);
  return rules;
}

std::vector<std::string> HiddenInViews(const Workspace& workspace, const SandboxRules& rules) {
  SandboxFacts facts = FactsOf(workspace, BranchPlace());
  facts.secrets.clear();  // no view shows them anyway
  return FindHiddenInViews(RulesOf(workspace), rules, facts);
}

Result<SandboxedCommand> SetUpSandbox(const Workspace& workspace, const BranchPlace& place,
                                      const std::string& bubblewrap, const SandboxWish& wish) {
  if (place.namespaces_of != 0) AGENTFS_TRY(JoinNamespacesOf(place.namespaces_of));
  const SandboxFacts facts = FactsOf(workspace, place);
  SandboxedCommand command;
  AGENTFS_ASSIGN(command.plan, MakeSandboxPlan(RulesOf(workspace), wish.rules, facts));
  command.plan.read_only = wish.read_only;
  MakeWhatIsMissing(command.plan);
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
