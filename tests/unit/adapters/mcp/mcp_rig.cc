// SPDX-License-Identifier: Apache-2.0
#include "mcp_rig.h"

#include <fcntl.h>
#include <unistd.h>

#include "agentfs/stores.h"

namespace agentfs::mcp {

CommandOutput FakeHost::Run(const std::vector<std::string>& arguments, std::stop_token stop) {
  if (hangs) {
    absl::Notification stopped;
    std::stop_callback callback(stop, [&] { stopped.Notify(); });
    hanging.Notify();
    stopped.WaitForNotification();
  }
  absl::MutexLock lock(&mu_);
  last_ = arguments;
  return answer_;
}

std::vector<std::string> FakeHost::LastCommand() {
  absl::MutexLock lock(&mu_);
  return last_;
}

void FakeHost::Answer(CommandOutput output) {
  absl::MutexLock lock(&mu_);
  answer_ = std::move(output);
}

// Says its own text, and has changed a file; without a command it did not run.
ExecutionEnvelope FakeHost::Execute(const ExecutionRequest& request, std::stop_token) {
  absl::MutexLock lock(&mu_);
  request_ = request;
  ExecutionEnvelope envelope;
  envelope.request = request;
  if (!request.shell) {
    envelope.error = ExecutionFailure{"invalid_command", "no command", "say one", EINVAL};
    return envelope;
  }
  envelope.result.emplace();
  envelope.result->exec = 42;
  envelope.result->exit_code = 3;
  envelope.result->out = {*request.shell, request.shell->size(), false};
  envelope.result->err = {"oops\n", 5, false};
  envelope.result->changed_files = {{"/made", ChangedFile::Kind::kAdded, "", {}, 1}};
  envelope.result->changed_files_total = 1;
  return envelope;
}

ExecutionRequest FakeHost::LastRequest() {
  absl::MutexLock lock(&mu_);
  return request_;
}

void FakeHost::EndCall(const CallRecord& call) {
  absl::MutexLock lock(&mu_);
  calls_.push_back(call);
}

std::vector<CallRecord> FakeHost::Calls() {
  absl::MutexLock lock(&mu_);
  return calls_;
}

McpTest::McpTest() {
  auto store = OpenMemoryStore(VolumeSchema());
  volume_ = std::move(Volume::Open(std::move(store).value(), nullptr, nullptr, {})).value();
  host_ = std::make_unique<FakeHost>(*volume_);
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  session_in_ = Fd(ends[0]);
  to_session_ = Fd(ends[1]);
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  from_session_ = Fd(ends[0]);
  session_out_ = Fd(ends[1]);
  replies_ = std::make_unique<LineChannel>(ChannelEnds{from_session_.get(), to_session_.get(), -1},
                                           kMaxLine * 2);
  channel_ = std::make_unique<LineChannel>(ChannelEnds{session_in_.get(), session_out_.get(), -1},
                                           kMaxLine);
  thread_ = std::thread([this] {
    auto branch = OpenBranchView(*host_, "main").value();
    Session session(*host_, *channel_, "1.2.3", std::move(branch));
    session.Run();
  });
}

McpTest::~McpTest() { Close(); }

void McpTest::Close() {
  to_session_.Reset();
  if (thread_.joinable()) thread_.join();
}

bool McpTest::IsSilent() {
  std::string line;
  return replies_->Read(line, 0) == LineChannel::Event::kTimeout;
}

void McpTest::SendLine(const std::string& line) { ASSERT_TRUE(replies_->Write(line)); }

Json McpTest::Receive() {
  std::string line;
  if (replies_->Read(line, 20'000) != LineChannel::Event::kLine) {
    ADD_FAILURE() << "the session says nothing";
    return Json::object();
  }
  return Json::parse(line);
}

Json McpTest::Ask(const std::string& method, const Json& params) {
  const int id = ++last_id_;
  Send(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
  for (;;) {
    Json message = Receive();
    if (message.empty() || message.value("id", Json()) == id) return message;
    notifications_.push_back(std::move(message));
  }
}

Json McpTest::Call(const std::string& tool, const Json& arguments) {
  return Ask("tools/call", {{"name", tool}, {"arguments", arguments}})["result"];
}

std::string McpTest::Text(const std::string& tool, const Json& arguments) {
  const Json result = Call(tool, arguments);
  EXPECT_FALSE(result.contains("isError")) << tool << ": " << result;
  EXPECT_EQ(result["content"][0]["text"], result["structuredContent"]["content"]) << tool;
  return result["content"][0]["text"];
}

std::string McpTest::Failure(const std::string& tool, const Json& arguments) {
  const Json result = Call(tool, arguments);
  EXPECT_TRUE(result.value("isError", false)) << tool << ": " << result;
  return result["content"][0]["text"];
}

Files McpTest::files() { return Files(volume_->OpenBranch("main").value()); }

}  // namespace agentfs::mcp
