// SPDX-License-Identifier: Apache-2.0
//
// Finding the workspace that a command means.
#pragma once

#include <string>
#include <string_view>

#include "agentfs/result.h"

namespace agentfs {

inline constexpr std::string_view kStateDirectory = ".agentfs";

// Where a person said, or might have said, that the workspace is; empty: did not.
struct WorkspaceHint {
  std::string option;             // --workspace
  std::string environment;        // $AGENTFS_WORKSPACE
  std::string current_directory;  // where the walk upwards starts
};

enum class WorkspaceKind : uint8_t {
  kDirectory,  // a directory with .agentfs/
  kState,      // a state directory apart from its base
  kBare,       // one database file
};

struct WorkspacePlace {
  WorkspaceKind kind;
  std::string path;  // absolute: the directory, the state directory or the file
};

// ENOENT if there is none, with what to do.
Result<WorkspacePlace> FindWorkspace(const WorkspaceHint& hint);

// Absolute and without ".", ".." and links in the part that exists.
std::string AbsolutePath(const std::string& path);

}  // namespace agentfs
