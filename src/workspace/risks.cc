// SPDX-License-Identifier: Apache-2.0
#include "workspace/risks.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "agentfs/files.h"
#include "agentfs/path.h"
#include "workspace/file_content.h"

namespace agentfs {
namespace {

struct RiskyPath {
  const char* pattern;  // of fnmatch(3), where * matches slashes too
  const char* reason;
};

constexpr std::array<RiskyPath, 25> kRiskyPaths = {{
    {"*/.git", "leads git to another repository"},
    {"*.git/hooks/*", "a git hook"},
    {"*/.git/modules/*/hooks/*", "a git hook of a submodule"},
    {"*/.git/worktrees/*/hooks/*", "a git hook of a worktree"},
    {"*/.husky/*", "a git hook by husky"},
    {"*/.githooks/*", "a git hook"},
    {"*/.pre-commit-config.yaml", "runs at each commit"},
    {"*/lefthook.y*ml", "runs at each commit"},
    {"*/.envrc", "run by direnv on entering the directory"},
    {"*/.vscode/tasks.json", "an editor's tasks"},
    {"*/.vscode/launch.json", "an editor's launch configuration"},
    {"*/.vscode/settings.json", "an editor's settings, which can name programs"},
    {"*.code-workspace", "an editor's settings, which can name programs"},
    {"*/.zed/tasks.json", "an editor's tasks"},
    {"*/.idea/*", "an editor's project, which can run programs"},
    {"*/.devcontainer/*", "run when an editor opens the project"},
    {"*/.exrc", "run by an editor in this directory"},
    {"*/.vimrc", "run by an editor in this directory"},
    {"*/.nvim.lua", "run by an editor in this directory"},
    {"*/.dir-locals.el", "run by an editor in this directory"},
    {"*/.cargo/config*", "can name programs that cargo runs"},
    {"*/.claude/settings*.json", "an agent's settings, which can name programs"},
    {"*/.codex/config.toml", "an agent's settings, which can name programs"},
    {"*/.gemini/settings.json", "an agent's settings, which can name programs"},
    {"*mcp.json", "names programs that an agent starts"},
}};

// Of what is outside of the workspace.
constexpr std::array<RiskyPath, 10> kRiskyOutside = {{
    {"/.agentfs/host/etc/*", "the machine's configuration"},
    {"*/.bash*", "run by a shell"},
    {"*/.profile", "run by a shell"},
    {"*/.z*", "run by a shell"},
    {"*/.config/fish/*", "run by a shell"},
    {"*/.gitconfig", "a git configuration, which can name programs"},
    {"*/.config/git/*", "a git configuration, which can name programs"},
    {"*/.ssh/*", "says who may log in where"},
    {"*/.config/autostart/*", "run at login"},
    {"*/.config/systemd/*", "run by systemd"},
}};

template <size_t size>
std::optional<std::string> MatchPath(const std::array<RiskyPath, size>& risky,
                                     const std::string& path) {
  for (const RiskyPath& each : risky) {
    if (::fnmatch(each.pattern, path.c_str(), 0) == 0) return each.reason;
  }
  return std::nullopt;
}

// Keys of a git configuration that name programs.
constexpr std::array<std::string_view, 10> kRiskyKeys = {
    "hookspath", "fsmonitor", "sshcommand", "editor", "pager",
    "command",   "helper",    "program",    "clean",  "smudge"};
constexpr uint64_t kMaxConfig = uint64_t{1} << 20;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(::tolower(c)); });
  return text;
}

Result<std::string> ConfigText(FileSystem& fs, const Found& found) {
  if (!found.node || !S_ISREG(found.attr.mode) || found.attr.size > kMaxConfig)
    return std::string();
  AGENTFS_ASSIGN(std::string text, ReadWhole(fs, *found.node, found.attr.size));
  return Lower(std::move(text));
}

size_t RiskyKeysIn(const std::string& text) {
  size_t count = 0;
  for (std::string_view key : kRiskyKeys) {
    for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) ++count;
  }
  // An alias that is a command of the shell.
  for (size_t at = text.find('!'); at != text.npos; at = text.find('!', at + 1)) ++count;
  return count;
}

// Those of submodules and worktrees too; outside of the workspace a repository may have any name.
bool IsGitConfig(const std::string& path) {
  const auto matches = [&](const char* pattern) {
    return ::fnmatch(pattern, path.c_str(), 0) == 0;
  };
  return matches("*/.git/config*") || matches("*/.git/modules/*/config*") ||
         matches("*/.git/worktrees/*/config*") ||
         (IsOutside(path) && (matches("*/config") || matches("*/config.worktree")));
}

Result<std::optional<std::string>> ConfigRisk(const Views& views, const PathChange& change) {
  if (!IsGitConfig(change.path)) return std::optional<std::string>();
  AGENTFS_ASSIGN(const std::string before, ConfigText(*views.before, change.before));
  AGENTFS_ASSIGN(const std::string after, ConfigText(*views.after, change.after));
  if (RiskyKeysIn(after) <= RiskyKeysIn(before)) return std::optional<std::string>();
  return std::optional<std::string>("a git configuration that names programs");
}

// The directory that the repository in the workspace's root takes its hooks from, if it is another.
std::string HooksPath(const Views& views) {
  Result<std::string> text = Files(views.before).ReadBytes("/.git/config");
  if (!text.ok()) return "";
  const std::string lower = Lower(*text);
  const size_t key = lower.find("hookspath");
  const size_t value = key == lower.npos ? key : lower.find_first_not_of(" \t=", key + 9);
  if (value == lower.npos) return "";
  std::string path = text->substr(value, text->find('\n', value) - value);
  Result<std::string> normal = NormalizePath(path.empty() ? "/" : path);
  return normal.ok() ? *normal : "";
}

bool LeavesWorkspace(const std::string& link, const std::string& target) {
  if (target.starts_with("/")) return true;
  auto depth = static_cast<int64_t>(SplitPath(link).size()) - 1;
  for (size_t at = 0; at < target.size();) {
    const size_t end = std::min(target.find('/', at), target.size());
    const std::string_view name = std::string_view(target).substr(at, end - at);
    if (name == "..") --depth;
    if (!name.empty() && name != "." && name != "..") ++depth;
    if (depth < 0) return true;
    at = end + 1;
  }
  return false;
}

Result<std::optional<std::string>> ModeRisk(const Views& views, const PathChange& change) {
  const uint32_t mode = change.after.attr.mode;
  const uint32_t old = change.before.node ? change.before.attr.mode : 0;
  if (S_ISLNK(mode)) {
    if (!change.content && change.before.node) return std::optional<std::string>();
    AGENTFS_ASSIGN(const std::string target, views.after->ReadLink(Caller{}, *change.after.node));
    if (IsOutside(change.path) || !LeavesWorkspace(change.path, target))
      return std::optional<std::string>();
    return std::optional<std::string>("a link that leaves the workspace, to " + target);
  }
  if (S_ISCHR(mode) || S_ISBLK(mode)) return std::optional<std::string>("a device");
  if (!S_ISREG(mode)) return std::optional<std::string>();
  const uint32_t gained = mode & ~(S_ISREG(old) ? old : 0);
  if ((gained & (S_ISUID | S_ISGID)) != 0) return std::optional<std::string>("runs as its owner");
  if ((gained & 0111) != 0) return std::optional<std::string>("a new executable");
  return std::optional<std::string>();
}

}  // namespace

Result<std::vector<Risk>> FindRisks(const Views& views, const std::vector<PathChange>& changes) {
  std::vector<Risk> risks;
  const std::string hooks = HooksPath(views);
  for (const PathChange& change : changes) {
    if (!change.after.node || S_ISDIR(change.after.attr.mode)) continue;
    std::optional<std::string> reason = MatchPath(kRiskyPaths, change.path);
    if (!reason && IsOutside(change.path)) reason = MatchPath(kRiskyOutside, change.path);
    if (!reason && hooks.size() > 1 && change.path.starts_with(hooks + "/")) reason = "a git hook";
    if (!reason) {
      AGENTFS_ASSIGN(reason, ConfigRisk(views, change));
    }
    if (!reason) {
      AGENTFS_ASSIGN(reason, ModeRisk(views, change));
    }
    if (reason) risks.push_back({change.path, *reason});
  }
  return risks;
}

}  // namespace agentfs
