// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/mcp/host.h"
#include "cli/context.h"

namespace agentfs::cli {

// The workspace that a server holds open, for a session of the Model Context Protocol. Thread-safe.
// The context must outlive it.
class McpHost final : public mcp::Host {
 public:
  // `environment` is that of the commands it runs.
  McpHost(const Context& context, std::vector<std::string> environment)
      : context_(context), environment_(std::move(environment)) {}

  std::string Directory() const override;
  Caller AsCaller() const override { return context_.identity.AsCaller(); }
  // While the view lives, changes of the branch are events.
  Result<std::shared_ptr<FileSystem>> OpenBranch(const std::string& branch) override;
  mcp::CommandOutput Run(const std::vector<std::string>& arguments, std::stop_token stop) override;
  ExecutionEnvelope Execute(const ExecutionRequest& request, std::stop_token stop) override;
  uint64_t BeginCall(const mcp::CallRecord& call) override;
  void EndCall(const mcp::CallRecord& call) override;
  void Settle() override;
  void Publish() override;

 private:
  uint64_t TakeCheckpoint(const mcp::CallRecord& call);

  const Context& context_;
  const std::vector<std::string> environment_;
  std::atomic<uint64_t> checkpoints_ = 0;  // that were taken for its edits
};

}  // namespace agentfs::cli
