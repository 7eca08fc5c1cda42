// SPDX-License-Identifier: Apache-2.0
//
// A client's session: it reads messages, answers them, and runs calls.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/mcp/call_lane.h"
#include "adapters/mcp/client_paths.h"
#include "adapters/mcp/host.h"
#include "adapters/mcp/line_channel.h"
#include "adapters/mcp/progress.h"
#include "adapters/mcp/protocol.h"
#include "adapters/mcp/tool.h"

namespace agentfs::mcp {

inline constexpr size_t kMaxLine = size_t{64} << 20;

// Calls that change one thing run in the order in which they came; calls that may take long run
// beside them (CallLane). The host and the channel must outlive it.
class Session {
 public:
  Session(Host& host, LineChannel& channel, std::string version,
          std::shared_ptr<const BranchView> branch);
  ~Session();

  // Serves until the input ends, and all calls with it, or the client is gone, which cancels them.
  void Run();

 private:
  struct Call;
  // Takes the answer to a request; none: there is to be none.
  using Reply = std::function<void(std::optional<std::string>)>;

  void OnLine(const std::string& line);
  void OnMessage(Incoming message, const Reply& reply);
  void OnRequest(Incoming message, const Reply& reply);
  void OnNotification(const Incoming& message);
  // The answer to what needs no call; none: it is one.
  std::optional<std::string> AnswerAtOnce(const Incoming& message) const;
  std::string InitializeResult(const Incoming& message) const;
  void StartCall(Incoming message, const Tool* tool, const Reply& reply);
  void RunCall(Call& call);
  std::string ToolReply(Call& call);
  Result<nlohmann::ordered_json> RunTool(Call& call, const nlohmann::ordered_json& arguments,
                                         CallRecord& record);
  std::string ResourceReply(Call& call);
  void FinishCall(Call& call, std::string text);
  void WaitForCalls();
  void CancelAll();
  void Beat();

  Host& host_;
  LineChannel& channel_;
  const std::string version_;
  const ClientPaths paths_;
  absl::Mutex mu_;
  std::shared_ptr<const BranchView> branch_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<Call>> running_ ABSL_GUARDED_BY(mu_);  // by id
  std::atomic<size_t> with_progress_ = 0;  // calls whose client wants to hear of them
  CallLane lane_;                          // last, so that it ends first
};

}  // namespace agentfs::mcp
