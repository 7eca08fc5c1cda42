// SPDX-License-Identifier: Apache-2.0
//
// A command's use of its workspace: opened by itself or, in the server, already open.
#pragma once

#include <memory>
#include <string>

#include "agentfs/files.h"
#include "agentfs/volume.h"
#include "cli/context.h"
#include "cli/open_workspace.h"

namespace agentfs::cli {

enum class Access : uint8_t { kRead, kWrite };

// One thread. The context must outlive it.
struct ViewChoice;

class Session {
 public:
  // The workspace that the context's options and the environment name. EBUSY, with the context's
  // `server_appeared` set, if a server has it by now.
  static Result<std::unique_ptr<Session>> Open(Context& context, Access access);
  // CheckVolumeTables of that workspace, which may be too damaged to be opened. In the server,
  // where it is open, there is nothing to report.
  static Result<FsckReport> CheckTables(Context& context, bool repair);
  ~Session();

  const Context& context() const { return context_; }
  Access access() const { return access_; }
  Volume& volume() { return workspace_->volume(); }
  control::Operations& operations() { return workspace_->operations(); }
  const Workspace& workspace() const { return workspace_->workspace(); }

  // Makes what the command changed durable and lets go of the workspace. Every Files of it must be
  // gone.
  Result<void> Close();

 private:
  Session(const Context& context, Access access) : context_(context), access_(access) {}

  friend Result<Files> OpenFiles(Session& session, const ViewChoice& choice);

  const Context& context_;
  const Access access_;
  std::shared_ptr<void> watch_;         // of the branch that the command changes
  std::unique_ptr<OpenWorkspace> own_;  // null: the server's
  OpenWorkspace* workspace_ = nullptr;
};

// What a command works on: a branch, or a snapshot for reading.
struct ViewChoice {
  std::string branch;    // empty: main
  std::string snapshot;  // a snapshot's name or id, or "base"
};

// The path API on the chosen view, for the user who runs the command. For reading, any REF may
// stand for the branch.
Result<Files> OpenFiles(Session& session, const ViewChoice& choice);

}  // namespace agentfs::cli
