// SPDX-License-Identifier: Apache-2.0
//
// The composition root: a workspace put together from its lock, store, objects, base and volume.
#pragma once

#include <memory>

#include "agentfs/volume.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// Whether the database is made if it is missing.
enum class Missing : uint8_t { kFail, kCreate };

// An open workspace, locked against other processes. Thread-safe but for Close.
class OpenWorkspace {
 public:
  static Result<std::unique_ptr<OpenWorkspace>> Open(Workspace workspace, WorkspaceLock lock,
                                                     Missing missing);
  // Checks, and repairs, what must be sound for Open to succeed.
  static Result<FsckReport> CheckTables(const Workspace& workspace, bool repair);
  ~OpenWorkspace();

  Volume& volume() { return *volume_; }
  const Workspace& workspace() const { return workspace_; }
  // Whether opening made the database.
  bool created() const { return created_; }

  // Makes everything durable and closes the store. Every view must be gone.
  Result<void> Close();

 private:
  OpenWorkspace(Workspace workspace, WorkspaceLock lock)
      : workspace_(std::move(workspace)), lock_(std::move(lock)) {}
  Result<void> OpenVolume(Missing missing);

  const Workspace workspace_;
  WorkspaceLock lock_;
  std::unique_ptr<Volume> volume_;
  bool created_ = false;
};

}  // namespace agentfs::cli
