// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/socket_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <nlohmann/json.hpp>

#include "adapters/control/json.h"
#include "adapters/control/message.h"
#include "sys/nested_process.h"

namespace agentfs::control {
namespace {

constexpr int kRetryAcceptMs = 100;
// A subscriber who does not read is cut off after this when the server stops.
constexpr absl::Duration kGrace = absl::Seconds(2);

bool MayConnect(const PeerCredentials& peer) { return peer.uid == 0 || peer.uid == ::geteuid(); }

}  // namespace

Result<std::unique_ptr<SocketServer>> SocketServer::Start(const std::string& path,
                                                          ControlService& service,
                                                          Options options) {
  auto listener = ListenUnix(path);
  if (!listener.ok()) return listener.error().WithContext("listening at " + path);
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return ErrnoError();
  std::unique_ptr<SocketServer> server(new SocketServer(
      path, std::move(listener).value(), std::move(wake), service, std::move(options)));
  server->acceptor_ = std::thread([raw = server.get()] { raw->AcceptLoop(); });
  return server;
}

SocketServer::SocketServer(std::string path, Fd listener, Fd wake, ControlService& service,
                           Options options)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      service_(service),
      options_(std::move(options)) {}

SocketServer::~SocketServer() { Stop(); }

size_t SocketServer::connections() const {
  absl::MutexLock lock(&mu_);
  return active_;
}

bool SocketServer::StopIfUnused() {
  {
    absl::MutexLock lock(&mu_);
    if (active_ > 0) return false;
    stopping_ = true;
  }
  StopListening();
  return true;
}

void SocketServer::StopListening() {
  (void)::eventfd_write(wake_.get(), 1);
  if (acceptor_.joinable()) acceptor_.join();
  // Unlinked first: who comes now finds no socket, who waits to be accepted is reset.
  ::unlink(path_.c_str());
  ::shutdown(listener_.get(), SHUT_RDWR);
}

void SocketServer::Stop() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    for (Connection& each : connections_) ::shutdown(each.socket.get(), SHUT_RD);
  }
  StopListening();
  absl::MutexLock lock(&mu_);
  const auto none = absl::Condition(this, &SocketServer::NoneActiveLocked);
  if (!mu_.AwaitWithTimeout(none, kGrace)) {
    for (Connection& each : connections_) ::shutdown(each.socket.get(), SHUT_RDWR);
    mu_.Await(none);
  }
  for (Connection& each : connections_) {
    if (each.thread.joinable()) each.thread.join();
  }
}

void SocketServer::AcceptLoop() {
  struct pollfd waits[] = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    if (waits[1].revents == 0) continue;
    try {
      AcceptOne();
    } catch (const std::exception&) {  // no memory, no thread: that client is refused, others not
    }
  }
}

void SocketServer::AcceptOne() {
  auto socket = AcceptUnix(listener_.get());
  if (!socket.ok()) {
    // Without descriptors the connection waits; so do we, lest we spin.
    struct pollfd wait = {wake_.get(), POLLIN, 0};
    if (socket.code() != EAGAIN) ::poll(&wait, 1, kRetryAcceptMs);
    return;
  }
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  JoinEndedLocked();
  if (active_ >= options_.max_connections) {
    (void)WriteMessage(socket->get(),
                       ControlService::Answer(Error(EAGAIN, "the server has too many connections",
                                                    "try again later")));
    return;
  }
  Connection& connection = connections_.emplace_back();
  connection.number = ++last_number_;
  connection.socket = std::move(socket).value();
  try {
    connection.thread = std::thread([this, &connection] { Serve(connection); });
  } catch (const std::exception&) {
    connections_.pop_back();
    throw;
  }
  ++active_;
}

void SocketServer::JoinEndedLocked() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (!it->ended) {
      ++it;
      continue;
    }
    it->thread.join();
    it = connections_.erase(it);
  }
}

void SocketServer::Serve(Connection& connection) {
  try {
    Converse(connection);
  } catch (const std::exception&) {  // a lack of memory ends this connection, not the server
  }
  options_.disconnected(connection.number);
  {
    absl::MutexLock lock(&mu_);
    // While stopping, the end of the connection means the end of the process.
    if (!stopping_ && !connection.lingers) ::shutdown(connection.socket.get(), SHUT_RDWR);
    connection.ended = true;
    --active_;
  }
  options_.unused();
}

void SocketServer::Converse(Connection& connection) {
  const int socket = connection.socket.get();
  auto credentials = PeerOf(socket);
  if (credentials.ok() && IsInNestedNamespace(credentials->pid)) {
    (void)WriteMessage(
        socket, ControlService::Answer(Error(EPERM, "a process in a sandbox cannot give orders",
                                             "ask from outside of it")));
  } else if (credentials.ok() && MayConnect(*credentials)) {
    Peer peer;
    peer.uid = credentials->uid;
    peer.gid = credentials->gid;
    peer.pid = credentials->pid;
    peer.groups = std::move(credentials->groups);
    peer.connection = connection.number;
    peer.socket = socket;
    ServeRequests(connection, std::move(peer));
  } else {
    (void)WriteMessage(
        socket, ControlService::Answer(Error(EACCES, "the workspace is served for another user",
                                             "use it as that user, or as root")));
  }
}

bool SocketServer::LingerIfLast(Connection& connection) {
  absl::MutexLock lock(&mu_);
  connection.lingers = active_ == 1 && options_.may_leave();
  return connection.lingers;
}

std::shared_ptr<Subscription> SocketServer::SubscriptionFor(const std::string& text) {
  auto branch = ControlService::SubscribedBranch(text);
  EventHub* events = service_.operations().events();
  if (!branch.ok() || events == nullptr) return nullptr;
  auto subscription = events->Subscribe(*branch);
  return subscription.ok() ? *subscription : nullptr;
}

void SocketServer::ServeRequests(Connection& connection, Peer peer) {
  const int socket = connection.socket.get();
  if (!WriteMessage(socket, service_.Greeting()).ok()) return;
  for (;;) {
    auto message = ReadMessage(socket);
    if (!message.ok()) {
      (void)WriteMessage(socket, ControlService::Answer(message.error()));
      return;
    }
    if (!message->has_value()) return;
    Message& taken = **message;
    // Before the answer, so that the subscriber misses nothing after it.
    auto subscription = SubscriptionFor(taken.text);
    if (ControlService::IsLeave(taken.text) && LingerIfLast(connection)) {
      (void)WriteMessage(socket, ControlService::LeavingAnswer());
      return;
    }
    const std::string answer = service_.Execute(
        {std::move(taken.text), std::move(taken.payload), std::move(taken.descriptors)}, peer);
    auto written = WriteMessage(socket, answer);
    if (written.code() == EMSGSIZE) {
      written = WriteMessage(socket, ControlService::Answer(Error(EMSGSIZE, "too long an answer")));
    }
    if (!written.ok()) return;
    if (subscription) return SendEvents(connection, *subscription);
  }
}

void SocketServer::SendEvents(Connection& connection, Subscription& subscription) {
  const int socket = connection.socket.get();
  struct pollfd waits[] = {{socket, POLLIN | POLLRDHUP, 0}, {subscription.descriptor(), POLLIN, 0}};
  for (;;) {
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return;
    // A subscriber has nothing more to say but good-bye.
    if (waits[0].revents != 0) return;
    for (const Event& event : subscription.Take()) {
      if (!WriteMessage(socket, Dump(EventJson(event))).ok()) return;
    }
  }
}

}  // namespace agentfs::control
