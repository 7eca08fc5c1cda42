// SPDX-License-Identifier: Apache-2.0
//
// Executes requests of the control plane, whichever way they came: over the socket, by ioctl on a
// mount's control file, or from this process. docs/design/control.md lists the requests.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/control/executions.h"
#include "adapters/control/operations.h"
#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::control {

inline constexpr int kProtocolVersion = 1;

// Who asks.
struct Peer {
  uint32_t uid = 0, gid = 0, pid = 0;
  std::vector<uint32_t> groups;
  // Not empty: a process inside a mount of this branch, which may act on that branch alone.
  std::string inside;
  // The connection, by number and by socket; 0 and -1: none.
  uint64_t connection = 0;
  int socket = -1;
};

struct Request {
  std::string text;     // {"version": 1, "request": NAME, "arguments": {...}}
  std::string payload;  // bytes that JSON cannot carry
  std::vector<Fd> descriptors;
};

// A command line that a client wants to be run for it.
struct CommandRequest {
  std::vector<std::string> arguments;
  std::string directory;
  uint32_t umask = 022;
  bool no_color = false;
  Fd in, out, err;
};
struct CommandOutcome {
  int status = 0;
  bool broken_pipe = false;  // nobody read the output to its end
};

// What a service asks of the process that it is in. Thread-safe.
class ServiceHost {
 public:
  virtual ~ServiceHost() = default;
  virtual Result<CommandOutcome> RunCommand(CommandRequest request, const Peer& peer) = 0;
  // The process ends soon after.
  virtual Result<void> Shutdown(UnmountForce force) = 0;
  // What the workspace is: its place, base, sizes, limits, as JSON.
  virtual void Describe(nlohmann::ordered_json& status) = 0;
};

// Thread-safe.
class ControlService {
 public:
  // `host` may be null: a service in a library, without mounts and commands. All outlive it.
  ControlService(Operations& operations, ServiceHost* host, std::string program_version)
      : operations_(operations), host_(host), program_version_(std::move(program_version)) {}

  Operations& operations() { return operations_; }
  // Executions are asked for from now on. It must outlive the service.
  void SetExecutions(Executions& executions) { executions_ = &executions; }

  // The answer, {"ok": true, "result": ...} or {"ok": false, "error": {...}}, to every request
  // whatever it is. `subscribe` is answered as far as it is valid; carrying the events is the
  // transport's part.
  std::string Execute(Request request, const Peer& peer);

  // What a server says first.
  std::string Greeting() const;
  // The answer that an error is.
  static std::string Answer(const Error& error);

  // Whether a request is `leave`, and the answer where it is granted: the connection stays open
  // until the process has ended.
  static bool IsLeave(const std::string& text);
  static std::string LeavingAnswer();
  // The branch of a valid `subscribe` ("" for all); ENOMSG for any other request.
  static Result<std::string> SubscribedBranch(const std::string& text);

 private:
  friend class RequestRun;

  Operations& operations_;
  ServiceHost* const host_;
  Executions* executions_ = nullptr;
  const std::string program_version_;
  // Held by a request from inside a mount: it occupies one of the mount's threads while it waits
  // for others of them.
  absl::Mutex inside_mu_;
};

}  // namespace agentfs::control
