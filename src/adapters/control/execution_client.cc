// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/execution_client.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "adapters/control/execution_json.h"

namespace agentfs::control {

using ClientJson = nlohmann::ordered_json;

Result<ClientJson> ExecutionClient::Call(std::string_view request, const ClientJson& arguments,
                                         std::string_view payload) {
  // A server that nobody used for a while has left.
  if (client_ && client_->WaitForEnd(0)) client_.reset();
  if (!client_) {
    AGENTFS_ASSIGN(ControlClient connected, connect_(workspace_));
    client_.emplace(std::move(connected));
  }
  auto answer = client_->Call(request, arguments, payload);
  if (answer.code() == ECONNRESET) client_.reset();
  return answer;
}

Result<ExecutionBegun> ExecutionClient::Begin(const ExecutionBegin& begin) {
  AGENTFS_ASSIGN(const ClientJson answer, Call("exec.begin", BeginJson(begin)));
  if (answer.value("uid", uint32_t{0}) != ::geteuid()) {
    return Error(EACCES, "the workspace is served for another user", "run it as that user");
  }
  ExecutionBegun begun;
  begun.exec = answer.value("exec", uint64_t{0});
  begun.place.branch = answer.value("branch", std::string());
  begun.place.session = answer.value("session", std::string());
  begun.place.namespaces_of = answer.value("namespaces_of", uint32_t{0});
  begun.place.exec = begun.exec;
  begun.place.inner_program = answer.value("inner_program", std::string());
  begun.keep_prefix = answer.value("keep_prefix", std::string());
  return begun;
}

Result<ExecutionSummary> ExecutionClient::End(const ExecutionEnd& end) {
  // A new connection would know nothing of it.
  if (!client_) return Error(ECONNRESET, "the workspace's server has ended");
  auto answer =
      client_->Call("exec.end", {{"status", end.status}, {"signal", end.signal}}, end.details);
  if (answer.code() == ECONNRESET) {
    client_.reset();
    return Error(EIO, "the workspace's server ended while the command ran",
                 "what it had saved is in the branch: 'agentfs diff'");
  }
  if (!answer.ok()) return answer.error();
  return SummaryOfJson(*answer);
}

Result<uint64_t> ExecutionClient::Refuse(const ExecutionBegin& begin) {
  AGENTFS_ASSIGN(const ClientJson answer, Call("exec.refuse", BeginJson(begin)));
  return answer.value("exec", uint64_t{0});
}

Result<std::string> ExecutionClient::KeepApproval(const std::string& request) {
  AGENTFS_ASSIGN(const ClientJson answer, Call("approval.keep", ClientJson::object(), request));
  return answer.value("id", std::string());
}

Result<std::string> ExecutionClient::TakeApproval(const std::string& id) {
  AGENTFS_ASSIGN(const ClientJson answer, Call("approval.take", {{"id", id}}));
  return answer.value("request", std::string());
}

}  // namespace agentfs::control
