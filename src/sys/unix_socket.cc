// SPDX-License-Identifier: Apache-2.0
#include "sys/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace agentfs {
namespace {

constexpr int kBacklog = 128;

// The address of a path, which may have to go through its open directory.
struct Address {
  Fd directory;
  struct sockaddr_un name = {};

  const struct sockaddr* get() const { return reinterpret_cast<const struct sockaddr*>(&name); }
};

Result<Address> AddressOf(const std::string& path) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::string text = path;
  if (text.size() >= sizeof(address.name.sun_path)) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return Error(ENAMETOOLONG);
    AGENTFS_ASSIGN(address.directory,
                   OpenAt(AT_FDCWD, path.substr(0, slash + 1), O_PATH | O_DIRECTORY));
    text = "/proc/self/fd/" + std::to_string(address.directory.get()) + path.substr(slash);
    if (text.size() >= sizeof(address.name.sun_path)) return Error(ENAMETOOLONG);
  }
  std::memcpy(address.name.sun_path, text.c_str(), text.size() + 1);
  return address;
}

Result<Fd> NewSocket(int flags) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd) return ErrnoError();
  return fd;
}

void TakeDescriptors(struct msghdr& message, std::vector<Fd>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

Result<Fd> ListenUnix(const std::string& path) {
  AGENTFS_ASSIGN(Address address, AddressOf(path));
  AGENTFS_ASSIGN(Fd fd, NewSocket(SOCK_NONBLOCK));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoError();
  // The socket's file takes its mode from the socket.
  if (::fchmod(fd.get(), 0600) != 0) return ErrnoError();
  if (::bind(fd.get(), address.get(), sizeof(address.name)) != 0) return ErrnoError();
  if (::listen(fd.get(), kBacklog) != 0) return ErrnoError();
  return fd;
}

Result<Fd> ConnectUnix(const std::string& path) {
  AGENTFS_ASSIGN(Address address, AddressOf(path));
  AGENTFS_ASSIGN(Fd fd, NewSocket(0));
  while (::connect(fd.get(), address.get(), sizeof(address.name)) != 0) {
    if (errno != EINTR) return ErrnoError();
  }
  return fd;
}

Result<Fd> AcceptUnix(int listener) {
  for (;;) {
    Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (fd) return fd;
    if (errno != EINTR && errno != ECONNABORTED) return ErrnoError();
  }
}

Result<PeerCredentials> PeerOf(int socket) {
  struct ucred credentials;
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return ErrnoError();
  std::vector<gid_t> groups(64);
  for (;;) {
    size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) break;
    if (errno != ERANGE) return ErrnoError();
    groups.resize(size / sizeof(gid_t));
  }
  groups.resize(size / sizeof(gid_t));
  return PeerCredentials{credentials.uid,
                         credentials.gid,
                         static_cast<uint32_t>(credentials.pid),
                         {groups.begin(), groups.end()}};
}

Result<void> SendAll(int socket, std::span<const char> data, std::span<const int> descriptors) {
  if (descriptors.size() > kMaxDescriptors) return Error(EINVAL);
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  while (!data.empty()) {
    struct iovec piece = {const_cast<char*>(data.data()), data.size()};
    struct msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
    }
    const ssize_t n = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError();
    data = data.subspan(static_cast<size_t>(n));
    descriptors = {};
  }
  return Ok();
}

Result<size_t> ReceiveSome(int socket, std::span<char> out, std::vector<Fd>& descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  struct iovec piece = {out.data(), out.size()};
  struct msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  for (;;) {
    const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError();
    TakeDescriptors(message, descriptors);
    return static_cast<size_t>(n);
  }
}

}  // namespace agentfs
