// SPDX-License-Identifier: Apache-2.0
//
// The files of a workspace: which there are, and making them.
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "workspace/config.h"
#include "workspace/locate.h"
#include "workspace/lock.h"

namespace agentfs {

// Where the parts of a workspace are; absolute paths.
struct Layout {
  WorkspaceKind kind = WorkspaceKind::kDirectory;
  std::string root;      // what --workspace takes: the directory, the state directory, the file
  std::string database;  // state.db, or the file
  std::string objects;   // empty: all content is in the database
  std::string config;    // empty: there is none
  std::string lock;
  std::string socket;               // of the server
  std::string mounts;               // the server's mount points, for who has to clean up after it
  std::string log;                  // of the server; empty: it keeps none
  std::string outputs;              // long output of commands; empty: it is not kept
  std::string making;               // there until the workspace is complete; empty: no such mark
  std::string kept;                 // files of the base that were replaced, but that layers need
  std::string base;                 // empty: there is no base
  std::vector<std::string> hidden;  // names that the base must not show
};

struct Workspace {
  Layout layout;
  Config config;
};

// Reads the configuration and lays out the paths; opens nothing.
Result<Workspace> LoadWorkspace(const WorkspacePlace& place);

struct InitOptions {
  std::string directory;  // the base
  std::string state;      // empty: DIRECTORY/.agentfs
  std::string bare;       // a file, without a base; excludes the others
  bool single_file = false;
};

// Makes the directories and files of a workspace but its database, which the store makes. What is
// there already stays as it is, so that an interrupted init can be repeated. ENOENT or ENOTDIR:
// the directory; EINVAL: options that exclude each other, a state directory deep in the base.
Result<Workspace> PrepareWorkspace(const InitOptions& options);

// Waits for other processes to be done with the workspace, as long as its configuration says or as
// said here.
Result<WorkspaceLock> LockWorkspace(const Workspace& workspace);
Result<WorkspaceLock> LockWorkspace(const Workspace& workspace, uint32_t timeout_ms);

}  // namespace agentfs
