// SPDX-License-Identifier: Apache-2.0
//
// What a sandboxed command sees at which path: decided here, without touching anything; done by
// bubblewrap (bubblewrap.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "workspace/sandbox_rules.h"

namespace agentfs {

enum class PathKind : uint8_t { kAbsent, kFile, kDirectory };

// A name in a directory of the host.
struct HostEntry {
  std::string name;
  std::string target;  // of a symbolic link; empty: it is none
};

// What the plan has to know of the host and the workspace.
struct SandboxFacts {
  std::string workspace;             // the path that the command finds it at
  std::string view;                  // where its branch is now
  std::string host_view;             // where the branch has the host's root
  std::vector<std::string> secrets;  // hidden at all events: our own state and mounts
  std::vector<std::string> absent;   // what the views leave out: of FindHiddenInViews
  std::string home;
  bool is_root = false;
  std::function<PathKind(const std::string&)> kind_of;
  // What the directory holds; none if that cannot be read, or is more than `limit`.
  std::function<std::optional<std::vector<HostEntry>>(const std::string&, size_t limit)> list;
};

struct SandboxMount {
  enum class What : uint8_t {
    kReadOnly,   // the host's own
    kReal,       // the host's own, writable
    kWorkspace,  // the branch's view
    kCow,        // from the branch's view of the host
    kHidden,     // there, but empty, and cannot be opened
    kPartial,    // read-only, with only those entries that have a mount of their own
    kLink,       // a symbolic link to `source`
    kPrivate,    // empty and writable
    kProc,
    kDev,
  };
  What what = What::kReadOnly;
  std::string path;
  std::string source;                    // of what is bound
  PathKind kind = PathKind::kDirectory;  // of what is hidden
  uint32_t mode = 0755;                  // of what is private
  friend bool operator==(const SandboxMount&, const SandboxMount&) = default;
};

struct SandboxPlan {
  std::vector<SandboxMount> mounts;  // parents before what is below them
  std::vector<std::string> absent;   // what the views leave out
  std::vector<std::string> made;     // sources of mounts that must be made unless they are there
  bool network = true;
  bool is_root = false;
  bool read_only = false;  // nothing but what is private can be written
};

// Of several rules about one path `flags` win over `config`; of those about paths in each other the
// longer path wins; either may cut the network. What is hidden is absent in the workspace and in
// copy-on-write directories, and where its directory is the host's own, read-only, and small enough
// to be put together without it; elsewhere it is there, but cannot be opened. What config names and
// is not there is left out, unless it is to be made (SandboxRules) in a directory that is small
// enough to be put together with it; ENOENT for what a flag wants copy-on-write or writable and is
// not there.
Result<SandboxPlan> MakeSandboxPlan(const SandboxRules& config, const SandboxRules& flags,
                                    const SandboxFacts& facts);

// What is hidden in the workspace and in copy-on-write directories, there or not: the views that
// the plan is made with must leave it out. Not what lies above something that is to be shown.
std::vector<std::string> FindHiddenInViews(const SandboxRules& config, const SandboxRules& flags,
                                           const SandboxFacts& facts);

// Whether a process in the sandbox finds at `path` what the host has there, changed or not.
bool IsVisible(const SandboxPlan& plan, std::string_view path);

}  // namespace agentfs
