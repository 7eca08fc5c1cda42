// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/message.h"

#include <endian.h>
#include <poll.h>

#include <cstring>

#include "sys/unix_socket.h"

namespace agentfs::control {
namespace {

constexpr std::string_view kMagic = "AGFS";
constexpr size_t kHeader = 12;
// How long the rest of a message that has begun may take to come.
constexpr int kRestMs = 10'000;

uint32_t LengthAt(std::span<const char> header, size_t offset) {
  uint32_t value;
  std::memcpy(&value, header.data() + offset, sizeof(value));
  return le32toh(value);
}

void AppendLength(std::string& out, size_t length) {
  const uint32_t value = htole32(static_cast<uint32_t>(length));
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

Result<void> WaitForRest(int socket) {
  struct pollfd wait = {socket, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&wait, 1, kRestMs);
    if (ready > 0) return Ok();
    if (ready == 0) return Error(ETIMEDOUT);
    if (errno != EINTR) return ErrnoError();
  }
}

// Fills `out` but for its first `done` bytes.
Result<void> ReceiveRest(int socket, std::span<char> out, size_t done, std::vector<Fd>& fds) {
  while (done < out.size()) {
    AGENTFS_TRY(WaitForRest(socket));
    AGENTFS_ASSIGN(size_t n, ReceiveSome(socket, out.subspan(done), fds));
    if (n == 0) return Error(EPROTO, "half a message");
    done += n;
  }
  return Ok();
}

}  // namespace

Result<std::optional<Message>> ReadMessage(int socket) {
  Message message;
  char header[kHeader];
  AGENTFS_ASSIGN(size_t begun, ReceiveSome(socket, header, message.descriptors));
  if (begun == 0) return std::optional<Message>();
  AGENTFS_TRY(ReceiveRest(socket, header, begun, message.descriptors));
  if (std::string_view(header, kMagic.size()) != kMagic) return Error(EPROTO, "not a message");
  const uint32_t text = LengthAt(header, 4), payload = LengthAt(header, 8);
  if (text > kMaxText || payload > kMaxPayload) return Error(EPROTO, "too large a message");
  message.text.resize(text);
  message.payload.resize(payload);
  AGENTFS_TRY(ReceiveRest(socket, message.text, 0, message.descriptors));
  AGENTFS_TRY(ReceiveRest(socket, message.payload, 0, message.descriptors));
  return std::optional<Message>(std::move(message));
}

Result<void> WriteMessage(int socket, std::string_view text, std::string_view payload,
                          std::span<const int> descriptors) {
  if (text.size() > kMaxText || payload.size() > kMaxPayload) return Error(EMSGSIZE);
  std::string bytes(kMagic);
  AppendLength(bytes, text.size());
  AppendLength(bytes, payload.size());
  bytes += text;
  bytes += payload;
  return SendAll(socket, bytes, descriptors);
}

}  // namespace agentfs::control
