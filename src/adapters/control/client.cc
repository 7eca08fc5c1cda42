// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/client.h"

#include <poll.h>

#include <nlohmann/json.hpp>

#include "adapters/control/json.h"
#include "adapters/control/message.h"
#include "adapters/control/service.h"
#include "sys/unix_socket.h"

namespace agentfs::control {
namespace {

using Json = nlohmann::ordered_json;

Error NoServer() { return Error(ENOTCONN, "the workspace has no server"); }

Error ToError(const Json& answer) {
  const Json error = answer.value("error", Json::object());
  return Error(error.value("errno", EPROTO), error.value("message", "the server said no reason"),
               error.value("remedy", ""));
}

Result<Json> ReadJson(int socket) {
  AGENTFS_ASSIGN(auto message, ReadMessage(socket));
  if (!message) return Error(ECONNRESET, "the server has ended");
  Json json = Json::parse(message->text, nullptr, false);
  if (!json.is_object()) return Error(EPROTO, "the server's answer makes no sense");
  return json;
}

}  // namespace

Error ToError(const std::string& answer) {
  const Json json = Json::parse(answer, nullptr, false);
  return json.is_object() ? ToError(json) : Error(EPROTO, "no answer: " + answer);
}

Result<ControlClient> ControlClient::Connect(const std::string& path) {
  auto socket = ConnectUnix(path);
  if (socket.code() == ENOENT || socket.code() == ECONNREFUSED) return NoServer();
  if (!socket.ok()) return socket.error().WithContext("connecting to the server at " + path);
  auto greeting = ReadJson(socket->get());
  if (greeting.code() == ECONNRESET) return NoServer();
  if (!greeting.ok()) return greeting.error().WithContext(path);
  if (!greeting->contains("server")) return ToError(*greeting);
  std::string program = greeting->value("program", "of an unknown version");
  if (greeting->value("version", 0) != kProtocolVersion) {
    return Error(
        EPROTONOSUPPORT,
        "the workspace is served by agentfs " + program + ", which this one cannot talk to",
        "use that version, or end its process");
  }
  return ControlClient(std::move(socket).value(), std::move(program));
}

Result<Json> ControlClient::Call(std::string_view request, const Json& arguments,
                                 std::string_view payload, std::span<const int> descriptors) {
  const Json message = {
      {"version", kProtocolVersion}, {"request", request}, {"arguments", arguments}};
  auto sent = WriteMessage(socket_.get(), Dump(message), payload, descriptors);
  if (sent.code() == EPIPE) return Error(ECONNRESET, "the server has ended");
  if (!sent.ok()) return sent.error();
  AGENTFS_ASSIGN(Json answer, ReadJson(socket_.get()));
  if (!answer.value("ok", false)) return ToError(answer);
  return answer.value("result", Json());
}

Result<std::optional<Json>> ControlClient::NextEvent() {
  auto event = ReadJson(socket_.get());
  if (event.code() == ECONNRESET) return std::optional<Json>();
  if (!event.ok()) return event.error();
  return std::optional<Json>(std::move(event).value());
}

bool ControlClient::WaitForEnd(int timeout_ms) {
  struct pollfd wait = {socket_.get(), POLLRDHUP, 0};
  return ::poll(&wait, 1, timeout_ms) > 0;
}

}  // namespace agentfs::control
