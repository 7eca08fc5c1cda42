// SPDX-License-Identifier: Apache-2.0
//
// A session over pipes on a volume in memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "adapters/mcp/session.h"
#include "agentfs/volume.h"
#include "sys/fd.h"

namespace agentfs::mcp {

using Json = nlohmann::ordered_json;

// Commands are only noted; `hang` waits until it is stopped.
class FakeHost : public Host {
 public:
  explicit FakeHost(Volume& volume) : volume_(volume) {}

  std::string Directory() const override { return "/home/me/project"; }
  Caller AsCaller() const override { return {}; }
  Result<std::shared_ptr<FileSystem>> OpenBranch(const std::string& branch) override {
    return volume_.OpenBranch(branch);
  }
  CommandOutput Run(const std::vector<std::string>& arguments, std::stop_token stop) override;
  ExecutionEnvelope Execute(const ExecutionRequest& request, std::stop_token stop) override;
  uint64_t BeginCall(const CallRecord&) override { return 7; }
  void EndCall(const CallRecord& call) override;
  void Settle() override {}
  void Publish() override { ++published; }

  std::vector<std::string> LastCommand();
  void Answer(CommandOutput output);
  std::vector<CallRecord> Calls();
  ExecutionRequest LastRequest();

  std::atomic<int> published = 0;
  std::atomic<bool> hangs = false;
  absl::Notification hanging;  // a command hangs

 private:
  Volume& volume_;
  absl::Mutex mu_;
  std::vector<std::string> last_ ABSL_GUARDED_BY(mu_);
  ExecutionRequest request_ ABSL_GUARDED_BY(mu_);
  std::vector<CallRecord> calls_ ABSL_GUARDED_BY(mu_);
  CommandOutput answer_ ABSL_GUARDED_BY(mu_) = {0, "{}", ""};
};

class McpTest : public testing::Test {
 protected:
  McpTest();
  ~McpTest() override;

  void SendLine(const std::string& line);
  void Send(const Json& message) { SendLine(message.dump()); }
  // The next message of the session.
  Json Receive();
  // Sends a request and gives the answer; what comes before it is kept in `notifications_`.
  Json Ask(const std::string& method, const Json& params = Json::object());
  // The result of a tool.
  Json Call(const std::string& tool, const Json& arguments = Json::object());
  // The text of a tool that succeeds, the same as its structured content; of one that fails.
  std::string Text(const std::string& tool, const Json& arguments = Json::object());
  std::string Failure(const std::string& tool, const Json& arguments = Json::object());
  // Whether nothing more comes. After Close.
  bool IsSilent();
  // No more input; waits for the session's end.
  void Close();

  Files files();

  std::unique_ptr<Volume> volume_;
  std::unique_ptr<FakeHost> host_;
  std::vector<Json> notifications_;

 private:
  Fd to_session_, from_session_, session_in_, session_out_;
  std::unique_ptr<LineChannel> replies_;  // our end
  std::unique_ptr<LineChannel> channel_;
  int last_id_ = 0;
  std::thread thread_;
};

}  // namespace agentfs::mcp
