// SPDX-License-Identifier: Apache-2.0
//
// The other end of the control socket.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::control {

// The error in an answer {"ok": false, "error": ...}.
Error ToError(const std::string& answer);

// A connection to a server. One thread.
class ControlClient {
 public:
  // ENOTCONN: there is no server, or it is about to leave: nothing was asked of it. Other errors
  // are what the server says (EACCES, EAGAIN, EPROTONOSUPPORT).
  static Result<ControlClient> Connect(const std::string& socket);

  // The version of the server's program.
  const std::string& program() const { return program_; }
  int socket() const { return socket_.get(); }

  // Asks, and gives the `result` of the answer. ECONNRESET: the server ended before it answered,
  // and may have done what was asked for.
  Result<nlohmann::ordered_json> Call(std::string_view request,
                                      const nlohmann::ordered_json& arguments,
                                      std::string_view payload = {},
                                      std::span<const int> descriptors = {});
  // After a call of `subscribe`: the next event; none when the server has ended.
  Result<std::optional<nlohmann::ordered_json>> NextEvent();
  // Until the server's process has let go of everything, at most `timeout_ms`; says whether.
  bool WaitForEnd(int timeout_ms);

 private:
  ControlClient(Fd socket, std::string program)
      : socket_(std::move(socket)), program_(std::move(program)) {}

  Fd socket_;
  std::string program_;
};

}  // namespace agentfs::control
