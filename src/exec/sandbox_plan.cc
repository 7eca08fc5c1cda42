// SPDX-License-Identifier: Apache-2.0
#include "exec/sandbox_plan.h"

#include <algorithm>
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

  Result<void> AddAll(const SandboxRules& config, const SandboxRules& flags) {
    AddDefaults();
    AGENTFS_TRY(AddRules(config, false));
    AGENTFS_TRY(AddRules(flags, true));
    AddSecrets();
    AddMissing();
    return Ok();
  }
  const std::vector<std::string>& made() const { return made_; }
  std::vector<std::string> HiddenInViews() const;
  // Where it can be had, what is hidden is not even there.
  void LeaveOutHidden();
  std::vector<SandboxMount> Finish();

 private:
  void AddDefaults();
  Result<void> AddRules(const SandboxRules& rules, bool required);
  void AddSecrets();
  void AddMissing();
  void Set(What what, std::string path, std::string source = {}, uint32_t mode = 0755) {
    SandboxMount& mount = mounts_[path];
    mount = {what, path, std::move(source), PathKind::kDirectory, mode};
  }
  bool ShowsBelow(const std::string& path) const;
  void DropAbsent();
  bool PutTogether(const std::string& directory);
  What WhatIsAt(const std::string& path) const;
  PathKind KindInside(const std::string& path) const;
  const SandboxMount* Enclosing(const std::string& path) const;

  const SandboxFacts& facts_;
  std::map<std::string, SandboxMount> mounts_;
  std::set<std::string> asked_;    // directories in which a flag hides something
  std::set<std::string> missing_;  // what is to be copy-on-write and has to be made for it
  std::vector<std::string> made_;  // what of it can be had, in the view
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

Result<void> Builder::AddRules(const SandboxRules& rules, bool required) {
  auto add = [&](const std::string& asked, What what) -> Result<void> {
    const bool to_be_made = what == What::kCow && asked.ends_with("/") && asked != "/";
    std::string path = Expand(asked, facts_.home);
    if (to_be_made) path.pop_back();
    if (facts_.kind_of(path) == PathKind::kAbsent) {
      if (required) return Error(ENOENT).WithContext(path);
      if (to_be_made) missing_.insert(path);
      return Ok();
    }
    Set(what, path, what == What::kCow ? Below(facts_.host_view, path) : path);
    return Ok();
  };
  for (const std::string& path : rules.cow) AGENTFS_TRY(add(path, What::kCow));
  for (const std::string& path : rules.allow) AGENTFS_TRY(add(path, What::kReal));
  for (const std::string& path : rules.hide) {
    Set(What::kHidden, Expand(path, facts_.home));
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
    Set(What::kHidden, path);
  }
  if (mounts_.at("/").what == What::kCow) Set(What::kReadOnly, "/sys", "/sys");
  // A rule about the workspace's own path would take the workspace away.
  Set(What::kWorkspace, facts_.workspace, facts_.view);
}

// Nothing can be mounted where the host has nothing, but in a directory that is put together.
void Builder::AddMissing() {
  for (const std::string& path : missing_) {
    const std::string directory = ParentDirectory(path);
    if (facts_.kind_of(directory) != PathKind::kDirectory || WhatIsAt(path) == What::kHidden) {
      continue;
    }
    const What above = WhatIsAt(directory);
    const bool together =
        above == What::kPartial || (above == What::kReadOnly && PutTogether(directory));
    if (!together || mounts_.contains(path)) continue;
    made_.push_back(Below(facts_.host_view, path));
    Set(What::kCow, path, made_.back());
  }
}

// Something that is mounted there needs the directories above it.
bool Builder::ShowsBelow(const std::string& path) const {
  return std::any_of(mounts_.begin(), mounts_.end(), [&](const auto& each) {
    return each.second.what != What::kHidden && IsAtOrBelow(each.first, path);
  });
}

std::vector<std::string> Builder::HiddenInViews() const {
  std::vector<std::string> paths;
  for (const auto& [path, mount] : mounts_) {
    if (mount.what != What::kHidden || path == "/") continue;
    const SandboxMount* in = Enclosing(path);
    // What is in something hidden is so already.
    const bool view = in->what == What::kWorkspace || in->what == What::kCow;
    if (view && !ShowsBelow(path)) paths.push_back(path);
  }
  return paths;
}

void Builder::DropAbsent() {
  for (const std::string& path : facts_.absent) mounts_.erase(path);
  for (auto at = mounts_.begin(); at != mounts_.end();) {
    const bool hidden = at->second.what == What::kHidden;
    if (hidden) at->second.kind = KindInside(at->first);
    at = hidden && at->second.kind == PathKind::kAbsent ? mounts_.erase(at) : std::next(at);
  }
}

void Builder::LeaveOutHidden() {
  DropAbsent();
  std::set<std::string> directories;  // in their order: outer ones first
  for (const auto& [path, mount] : mounts_) {
    if (mount.what == What::kHidden && path != "/") directories.insert(ParentDirectory(path));
  }
  for (const std::string& directory : directories) {
    // Views, and what may be written to, must stay what they are.
    if (WhatIsAt(directory) == What::kReadOnly) PutTogether(directory);
  }
}

What Builder::WhatIsAt(const std::string& path) const {
  const auto own = mounts_.find(path);
  return own != mounts_.end() ? own->second.what : Enclosing(path)->what;
}

// False: it stays as it is.
bool Builder::PutTogether(const std::string& directory) {
  const auto entries =
      facts_.list(directory, asked_.contains(directory) ? kMostEntriesAsked : kMostEntries);
  if (!entries.has_value()) return false;
  Set(What::kPartial, directory);
  for (const HostEntry& entry : *entries) {
    const std::string path = (directory == "/" ? "" : directory) + "/" + entry.name;
    const auto own = mounts_.find(path);
    if (own == mounts_.end()) {
      Set(entry.target.empty() ? What::kReadOnly : What::kLink, path,
          entry.target.empty() ? path : entry.target);
    } else if (own->second.what == What::kHidden) {
      mounts_.erase(own);
    }
  }
  return true;
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
  AGENTFS_TRY(builder.AddAll(config, flags));
  builder.LeaveOutHidden();
  SandboxPlan plan;
  plan.mounts = builder.Finish();
  plan.absent = facts.absent;
  plan.made = builder.made();
  plan.network = config.network && flags.network;
  plan.is_root = facts.is_root;
  return plan;
}

std::vector<std::string> FindHiddenInViews(const SandboxRules& config, const SandboxRules& flags,
                                           const SandboxFacts& facts) {
  Builder builder(facts);
  // What is wrong with the rules is said when the plan is made.
  if (!builder.AddAll(config, flags).ok()) return {};
  return builder.HiddenInViews();
}

bool IsVisible(const SandboxPlan& plan, std::string_view path) {
  bool visible = false;
  for (const SandboxMount& mount : plan.mounts) {
    if (!IsAtOrBelow(path, mount.path)) continue;
    visible = mount.what != What::kHidden && mount.what != What::kPrivate &&
              (mount.what != What::kPartial || path == mount.path);
  }
  return visible && std::none_of(plan.absent.begin(), plan.absent.end(),
                                 [&](const auto& top) { return IsAtOrBelow(path, top); });
}

}  // namespace agentfs
