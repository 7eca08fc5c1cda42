// SPDX-License-Identifier: Apache-2.0
#include "exec/sandbox_plan.h"

#include <array>
#include <map>
#include <set>

namespace agentfs {
namespace {

using What = SandboxMount::What;

// Of /run: what programs need to find other machines and users. Nothing here takes orders.
constexpr std::array<std::string_view, 4> kResolvers = {"/run/systemd/resolve", "/run/resolvconf",
                                                        "/run/NetworkManager", "/run/nscd"};

// Root could change the whole machine through these; bubblewrap covers only some of them.
constexpr std::array<std::string_view, 3> kKernelSettings = {"/proc/fs", "/proc/sys",
                                                             "/proc/sysrq-trigger"};

// Each entry of a directory that is put together is a mount, of a quarter of a millisecond: for
// what is always hidden a run shall not take much longer, who asks for it can wait.
constexpr size_t kMostEntries = 32, kMostEntriesAsked = 256;

bool IsAtOrBelow(std::string_view path, std::string_view top) {
  if (top == "/") return true;
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

std::string Below(const std::string& directory, std::string_view path) {
  return path == "/" ? directory : directory + std::string(path);
}

std::string ParentDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string Expand(const std::string& path, const std::string& home) {
  if (path != "~" && !path.starts_with("~/")) return path;
  return home + path.substr(1);
}

// Paths in their order, so that a directory comes before what is in it.
class Builder {
 public:
  explicit Builder(const SandboxFacts& facts) : facts_(facts) {}

  void AddDefaults();
  Result<void> AddRules(const SandboxRules& rules, bool required);
  void AddSecrets();
  // Where it can be had, what is hidden is not even there.
  void LeaveOutHidden();
  std::vector<SandboxMount> Finish();

 private:
  void Set(What what, std::string path, std::string source = {}, uint32_t mode = 0755) {
    SandboxMount& mount = mounts_[path];
    mount = {what, path, std::move(source), PathKind::kDirectory, mode};
  }
  void Hide(const std::string& path);
  void PutTogether(const std::string& directory);
  PathKind KindInside(const std::string& path) const;
  const SandboxMount* Enclosing(const std::string& path) const;

  const SandboxFacts& facts_;
  std::map<std::string, SandboxMount> mounts_;
  std::set<std::string> asked_;  // directories in which a flag hides something
};

void Builder::AddDefaults() {
  Set(What::kReadOnly, "/", "/");
  Set(What::kDev, "/dev");
  Set(What::kProc, "/proc");
  for (std::string_view path : kKernelSettings) {
    if (facts_.is_root && facts_.kind_of(std::string(path)) != PathKind::kAbsent) {
      Set(What::kReadOnly, std::string(path), std::string(path));
    }
  }
  const auto make_private = [&](const std::string& path, uint32_t mode) {
    if (facts_.kind_of(path) == PathKind::kDirectory) Set(What::kPrivate, path, {}, mode);
  };
  make_private("/run", 0755);
  for (std::string_view path : kResolvers) {
    if (facts_.kind_of(std::string(path)) != PathKind::kAbsent) {
      Set(What::kReadOnly, std::string(path), std::string(path));
    }
  }
  make_private("/tmp", 01777);
  make_private("/var/tmp", 01777);
  Set(What::kWorkspace, facts_.workspace, facts_.view);
}

// What is there for who looks from inside: the branch may have removed it.
PathKind Builder::KindInside(const std::string& path) const {
  if (!IsAtOrBelow(path, facts_.workspace)) return facts_.kind_of(path);
  const size_t length = facts_.workspace == "/" ? 0 : facts_.workspace.size();
  return facts_.kind_of(facts_.view + path.substr(length));
}

void Builder::Hide(const std::string& path) {
  const PathKind kind = KindInside(path);
  if (kind == PathKind::kAbsent) return;
  Set(What::kHidden, path);
  mounts_[path].kind = kind;
}

Result<void> Builder::AddRules(const SandboxRules& rules, bool required) {
  auto add = [&](const std::string& asked, What what) -> Result<void> {
    const std::string path = Expand(asked, facts_.home);
    if (facts_.kind_of(path) == PathKind::kAbsent) {
      if (required) return Error(ENOENT).WithContext(path);
      return Ok();
    }
    Set(what, path, what == What::kCow ? Below(facts_.host_view, path) : path);
    return Ok();
  };
  for (const std::string& path : rules.cow) AGENTFS_TRY(add(path, What::kCow));
  for (const std::string& path : rules.allow) AGENTFS_TRY(add(path, What::kReal));
  for (const std::string& path : rules.hide) {
    Hide(Expand(path, facts_.home));
    if (required) asked_.insert(ParentDirectory(Expand(path, facts_.home)));
  }
  return Ok();
}

void Builder::AddSecrets() {
  for (const std::string& path : facts_.secrets) {
    const SandboxMount* enclosing = Enclosing(path);
    // What lies in a private directory is not there, and in the workspace we are the control
    // directory.
    if (enclosing->what == What::kPrivate || enclosing->what == What::kWorkspace) continue;
    Hide(path);
  }
  if (mounts_.at("/").what == What::kCow) Set(What::kReadOnly, "/sys", "/sys");
  // A rule about the workspace's own path would take the workspace away.
  Set(What::kWorkspace, facts_.workspace, facts_.view);
}

void Builder::LeaveOutHidden() {
  std::set<std::string> directories;  // in their order: outer ones first
  for (const auto& [path, mount] : mounts_) {
    if (mount.what == What::kHidden && path != "/") directories.insert(ParentDirectory(path));
  }
  for (const std::string& directory : directories) {
    const auto own = mounts_.find(directory);
    const What what = own != mounts_.end() ? own->second.what : Enclosing(directory)->what;
    // Views, and what may be written to, must stay what they are.
    if (what == What::kReadOnly) PutTogether(directory);
  }
}

void Builder::PutTogether(const std::string& directory) {
  const std::vector<HostEntry> entries =
      facts_.list(directory, asked_.contains(directory) ? kMostEntriesAsked : kMostEntries);
  if (entries.empty()) return;
  Set(What::kPartial, directory);
  for (const HostEntry& entry : entries) {
    const std::string path = (directory == "/" ? "" : directory) + "/" + entry.name;
    const auto own = mounts_.find(path);
    if (own == mounts_.end()) {
      Set(entry.target.empty() ? What::kReadOnly : What::kLink, path,
          entry.target.empty() ? path : entry.target);
    } else if (own->second.what == What::kHidden) {
      mounts_.erase(own);
    }
  }
}

// The mount that `path` is in, itself left out; never null, since there is one for "/".
const SandboxMount* Builder::Enclosing(const std::string& path) const {
  const SandboxMount* found = nullptr;
  for (const auto& [point, mount] : mounts_) {
    if (point != path && IsAtOrBelow(path, point)) found = &mount;
  }
  return found;
}

std::vector<SandboxMount> Builder::Finish() {
  std::vector<SandboxMount> mounts;
  for (const auto& [path, mount] : mounts_) {
    const SandboxMount* in = Enclosing(path);
    // A rename from one mount to another fails, so that none is made where there is no need.
    const bool same = in != nullptr && mount.what == What::kCow &&
                      (in->what == What::kCow || in->what == What::kWorkspace);
    if (!same) mounts.push_back(mount);
  }
  return mounts;
}

}  // namespace

Result<SandboxPlan> MakeSandboxPlan(const SandboxRules& config, const SandboxRules& flags,
                                    const SandboxFacts& facts) {
  Builder builder(facts);
  builder.AddDefaults();
  AGENTFS_TRY(builder.AddRules(config, false));
  AGENTFS_TRY(builder.AddRules(flags, true));
  builder.AddSecrets();
  builder.LeaveOutHidden();
  SandboxPlan plan;
  plan.mounts = builder.Finish();
  plan.network = config.network && flags.network;
  plan.is_root = facts.is_root;
  return plan;
}

bool IsVisible(const SandboxPlan& plan, std::string_view path) {
  bool visible = false;
  for (const SandboxMount& mount : plan.mounts) {
    if (!IsAtOrBelow(path, mount.path)) continue;
    visible = mount.what != What::kHidden && mount.what != What::kPrivate &&
              (mount.what != What::kPartial || path == mount.path);
  }
  return visible;
}

}  // namespace agentfs
