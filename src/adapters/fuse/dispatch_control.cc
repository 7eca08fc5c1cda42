// SPDX-License-Identifier: Apache-2.0
//
// The control file's ioctl, and requests that only need an answer.
#include <cstring>
#include <string>

#include "adapters/fuse/dispatcher.h"

namespace agentfs::fuse {

Dispatcher::Answer Dispatcher::Nothing(Request&) { return size_t{0}; }

Dispatcher::Answer Dispatcher::Control(Request& request) {
  const auto in = request.Arguments<fuse_ioctl_in>();
  // Files that are opened ask whether they are terminals: quickly no.
  const Tree& tree = *request.inode.tree;
  if (in.cmd != kControlIoctl || tree.kind() != Tree::Kind::kVirtual) return Error(ENOTTY);
  if (!static_cast<VirtualTree&>(request.fs()).IsControlFile(request.node())) return Error(ENOTTY);
  if (!control_) return Error(EOPNOTSUPP);

  const std::span<const char> payload = request.exchange.Payload(sizeof in);
  uint32_t size = 0;
  if (payload.size() < sizeof size) return Error(EINVAL);
  std::memcpy(&size, payload.data(), sizeof size);
  if (size > payload.size() - sizeof size) return Error(EINVAL);
  const ControlCaller caller{request.header().uid, request.header().gid, request.header().pid,
                             tree.name()};
  AGENTFS_ASSIGN(const std::string answer,
                 control_(caller, std::string_view(payload.data() + sizeof size, size)));
  if (answer.size() > kMaxControlBytes || answer.size() + sizeof size > in.out_size) {
    return Error(EMSGSIZE);
  }
  struct {
    fuse_ioctl_out header;
    uint32_t size;
  } out{};
  out.size = static_cast<uint32_t>(answer.size());
  char* space = request.exchange.space().data();
  std::memcpy(space, &out, sizeof(fuse_ioctl_out));
  std::memcpy(space + sizeof(fuse_ioctl_out), &out.size, sizeof out.size);
  std::memcpy(space + sizeof(fuse_ioctl_out) + sizeof out.size, answer.data(), answer.size());
  return sizeof(fuse_ioctl_out) + sizeof out.size + answer.size();
}

}  // namespace agentfs::fuse
