// SPDX-License-Identifier: Apache-2.0
//
// Messages on the control socket: "AGFS", the length of a JSON text and that of a payload (both 32
// bits, little-endian), then the two. Descriptors travel with the first byte.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::control {

inline constexpr size_t kMaxText = 8 << 20;
inline constexpr size_t kMaxPayload = 4 << 20;

struct Message {
  std::string text;
  std::string payload;
  std::vector<Fd> descriptors;
};

// The next message; none at the end of the stream. EPROTO for what is no message, ETIMEDOUT for
// one whose rest does not come: the stream cannot be used any further.
Result<std::optional<Message>> ReadMessage(int socket);
// EMSGSIZE, and nothing is sent, for one over the limits.
Result<void> WriteMessage(int socket, std::string_view text, std::string_view payload = {},
                          std::span<const int> descriptors = {});

}  // namespace agentfs::control
