// SPDX-License-Identifier: Apache-2.0
#include "sys/fuse_requests.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr char kUsualPlace[] = "/sys/fs/fuse/connections";
constexpr auto kControlMagic = 0x65735543;
// Each takes a few microseconds: a lone client of a busy mount is between two requests as often as
// not.
constexpr int kMostLooks = 50;

// Where nobody has mounted it: for this process alone, at no path.
Fd MountForOurselves() {
  const Fd type(::fsopen("fusectl", FSOPEN_CLOEXEC));
  if (!type || ::fsconfig(type.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return Fd();
  return Fd(::fsmount(type.get(), FSMOUNT_CLOEXEC, 0));
}

Fd OpenConnections() {
  Fd usual(::open(kUsualPlace, O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct statfs fs;
  if (usual && ::fstatfs(usual.get(), &fs) == 0 && fs.f_type == kControlMagic) return usual;
  return MountForOurselves();
}

}  // namespace

bool AwaitNoFuseRequest(uint32_t connection) {
  static const Fd connections = OpenConnections();
  if (!connections) return false;
  const std::string name = std::to_string(connection) + "/waiting";
  for (int look = 0; look < kMostLooks; ++look) {
    // It can be read once.
    const Fd waiting(::openat(connections.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
    char count[2] = {};
    if (!waiting || ::read(waiting.get(), count, sizeof count) < 2) return false;
    if (count[0] == '0' && count[1] == '\n') return true;
  }
  return false;
}

}  // namespace agentfs
