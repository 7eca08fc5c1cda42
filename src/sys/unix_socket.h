// SPDX-License-Identifier: Apache-2.0
//
// Unix stream sockets with credentials and passed descriptors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

struct PeerCredentials {
  uint32_t uid = 0, gid = 0, pid = 0;
  std::vector<uint32_t> groups;
};

// Both take paths longer than the 107 bytes of a socket's address, by way of the open parent
// directory in /proc. ListenUnix replaces what is at `path` and makes the socket with mode 0600.
Result<Fd> ListenUnix(const std::string& path);
// ENOENT: there is no socket; ECONNREFUSED: nobody listens any more.
Result<Fd> ConnectUnix(const std::string& path);
// The next connection; EAGAIN if there is none.
Result<Fd> AcceptUnix(int listener);

// Who was at the other end when it connected.
Result<PeerCredentials> PeerOf(int socket);

// Sends everything, `descriptors` with the first byte. EPIPE, never a signal, when the peer is
// gone.
Result<void> SendAll(int socket, std::span<const char> data, std::span<const int> descriptors = {});
// At least one byte, or 0 at the end; descriptors that came along are added. At most
// kMaxDescriptors come at a time, more are closed.
inline constexpr size_t kMaxDescriptors = 8;
Result<size_t> ReceiveSome(int socket, std::span<char> out, std::vector<Fd>& descriptors);

}  // namespace agentfs
