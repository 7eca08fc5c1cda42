// SPDX-License-Identifier: Apache-2.0
#include "cli/identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace agentfs::cli {

Identity Identity::OfThisProcess() {
  Identity identity;
  identity.uid = ::geteuid();
  identity.gid = ::getegid();
  identity.pid = static_cast<uint32_t>(::getpid());
  const mode_t mask = ::umask(0);
  ::umask(mask);
  identity.umask = mask;
  std::vector<gid_t> ids(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(ids.size()), ids.data());
  ids.resize(static_cast<size_t>(std::max(0, count)));
  identity.groups.assign(ids.begin(), ids.end());
  return identity;
}

}  // namespace agentfs::cli
