// SPDX-License-Identifier: Apache-2.0
//
// The control file's ioctl, those about flags of files, and requests that only need an answer.
#include <linux/fs.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "adapters/fuse/dispatcher.h"

namespace agentfs::fuse {
namespace {

// No file has flags (lsattr, chattr), all of which are bits of zeros here; none can be given.
Result<size_t> AnswerAboutFlags(const fuse_ioctl_in& in, std::span<const char> given,
                                std::span<char> space) {
  const bool asks = in.cmd == FS_IOC_GETFLAGS || in.cmd == FS_IOC_FSGETXATTR;
  const bool sets = in.cmd == FS_IOC_SETFLAGS || in.cmd == FS_IOC_FSSETXATTR;
  const size_t size = sizeof(fuse_ioctl_out) + (asks ? in.out_size : 0);
  if ((!asks && !sets) || in.out_size > sizeof(struct fsxattr)) return Error(ENOTTY);
  if (sets && std::any_of(given.begin(), given.end(), [](char c) { return c != 0; })) {
    return Error(EOPNOTSUPP);
  }
  std::memset(space.data(), 0, size);
  return size;
}

}  // namespace

Dispatcher::Answer Dispatcher::Nothing(Request&) { return size_t{0}; }

Dispatcher::Answer Dispatcher::Control(Request& request) {
  const auto in = request.Arguments<fuse_ioctl_in>();
  if (in.cmd != kControlIoctl) {
    return AnswerAboutFlags(in, request.exchange.Payload(sizeof in), request.exchange.space());
  }
  const Tree& tree = *request.inode.tree;
  if (tree.kind() != Tree::Kind::kVirtual) return Error(ENOTTY);
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
