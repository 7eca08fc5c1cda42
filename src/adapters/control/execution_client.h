// SPDX-License-Identifier: Apache-2.0
//
// The execution boundary for a process that is not the workspace's server: the command runs as a
// child of this process, and the server is asked for the rest.
#pragma once

#include <functional>
#include <optional>

#include "adapters/control/client.h"
#include "exec/execute.h"

namespace agentfs::control {

// One request at a time; the connection is kept for the next. Not thread-safe: each thread has one
// of its own.
class ExecutionClient final : public ExecutionHost {
 public:
  // `connect` finds the server or starts it.
  using Connect = std::function<Result<ControlClient>(const Workspace&)>;
  ExecutionClient(Workspace workspace, Connect connect)
      : workspace_(std::move(workspace)), connect_(std::move(connect)) {}

  const Workspace& workspace() const override { return workspace_; }
  Result<ExecutionBegun> Begin(const ExecutionBegin& begin) override;
  Result<ExecutionSummary> End(const ExecutionEnd& end) override;
  Result<uint64_t> Refuse(const ExecutionBegin& begin) override;
  Result<std::string> KeepApproval(const std::string& request) override;
  Result<std::string> TakeApproval(const std::string& id) override;

 private:
  // Over a new connection if the old one has ended: nothing was begun there.
  Result<nlohmann::ordered_json> Call(std::string_view request,
                                      const nlohmann::ordered_json& arguments,
                                      std::string_view payload = {});

  const Workspace workspace_;
  const Connect connect_;
  std::optional<ControlClient> client_;
};

}  // namespace agentfs::control
