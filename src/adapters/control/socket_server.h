// SPDX-License-Identifier: Apache-2.0
//
// The control plane over a Unix socket: a thread for each connection, which greets, then answers
// one request after the other. Whoever is neither the server's own user nor root is turned away.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/control/service.h"
#include "sys/fd.h"
#include "sys/unix_socket.h"

namespace agentfs::control {

// Thread-safe. The service must outlive it.
class SocketServer {
 public:
  struct Options {
    size_t max_connections = 256;
    // Called on a connection's thread after its last request, with its number; it may not Stop.
    std::function<void(uint64_t)> disconnected = [](uint64_t) {};
    // Called after a connection no longer counts.
    std::function<void()> unused = [] {};
    // Asks whether the process will end at once if there is no connection. Called under a lock.
    std::function<bool()> may_leave = [] { return false; };
  };
  // Replaces what is at `path`: the caller owns the workspace.
  static Result<std::unique_ptr<SocketServer>> Start(const std::string& path,
                                                     ControlService& service, Options options);
  ~SocketServer();

  size_t connections() const;
  // Stops listening if there is no connection, and says whether. Clients that have not been
  // greeted see their connection end and know that nothing was done.
  bool StopIfUnused();
  // Stops listening, lets running requests end (those that wait for their client are cancelled),
  // and ends the connections. The connections stay open for the clients until the destructor:
  // their end tells that the process is through.
  void Stop();

 private:
  struct Connection {
    uint64_t number = 0;
    Fd socket;
    std::thread thread;
    bool ended = false;
    bool lingers = false;  // the socket stays open although the thread has ended
  };

  SocketServer(std::string path, Fd listener, Fd wake, ControlService& service, Options options);
  void AcceptLoop();
  void AcceptOne();
  void Serve(Connection& connection);
  // Until the client goes; may throw what a lack of memory throws.
  void Converse(Connection& connection);
  void ServeRequests(Connection& connection, Peer peer);
  // For the last client, which wants to see the process end: its connection no longer counts, and
  // stays open until the process ends or somebody else comes.
  bool LingerIfLast(Connection& connection);
  std::shared_ptr<Subscription> SubscriptionFor(const std::string& text);
  void SendEvents(Connection& connection, Subscription& subscription);
  void StopListening();
  void JoinEndedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NoneActiveLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return active_ == 0; }

  const std::string path_;
  const Fd listener_;
  const Fd wake_;  // readable: stop accepting
  ControlService& service_;
  const Options options_;
  std::thread acceptor_;
  mutable absl::Mutex mu_;
  std::list<Connection> connections_ ABSL_GUARDED_BY(mu_);
  size_t active_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace agentfs::control
