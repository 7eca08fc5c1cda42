// SPDX-License-Identifier: Apache-2.0
//
// The composition root: a workspace put together from its lock, store, objects, base and volume.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agentfs/files.h"
#include "agentfs/volume.h"
#include "cli/context.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// Whether the database is made if it is missing.
enum class Missing : uint8_t { kFail, kCreate };

// An open workspace, locked against other processes. One thread.
class Session {
 public:
  // The workspace that the context's options and the environment name.
  static Result<std::unique_ptr<Session>> Open(const Context& context);
  static Result<std::unique_ptr<Session>> OpenWorkspace(Workspace workspace, Missing missing);
  ~Session();

  Volume& volume() { return *volume_; }
  const Workspace& workspace() const { return workspace_; }
  // Whether this session made the database.
  bool created() const { return created_; }

  // Makes everything durable and lets go of the workspace. Every Files of it must be gone.
  Result<void> Close();

 private:
  Session(Workspace workspace, WorkspaceLock lock)
      : workspace_(std::move(workspace)), lock_(std::move(lock)) {}
  Result<void> OpenVolume(Missing missing);

  const Workspace workspace_;
  WorkspaceLock lock_;
  std::unique_ptr<Volume> volume_;
  bool created_ = false;
};

// What a command works on: a branch, or a snapshot for reading.
struct ViewChoice {
  std::string branch;    // empty: main
  std::string snapshot;  // a snapshot's name or id, or "base"
};

// The path API on the chosen view, for the user who runs the command. For reading, any REF may
// stand for the branch.
enum class Access : uint8_t { kRead, kWrite };
Result<Files> OpenFiles(Session& session, const ViewChoice& choice, Access access);

// The user who runs the command; the groups live as long as the process.
Caller CurrentCaller();

}  // namespace agentfs::cli
