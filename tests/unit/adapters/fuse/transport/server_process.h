// SPDX-License-Identifier: Apache-2.0
//
// A filesystem served by a process of its own, perhaps as an ordinary user.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "device_mode.h"
#include "served_mount.h"

namespace agentfs::fuse::test {

enum class As : uint8_t {
  kRoot,
  kNobody,           // mounts through fusermount3
  kNobodyNamespace,  // mounts directly, in a user namespace of its own
};

// Serves one file, "file", with the content "content". Make it while no other thread runs.
class ServerProcess {
 public:
  ServerProcess(As who, const ServedOptions& options);
  ~ServerProcess();  // unmounts by force and waits for its end

  std::string Path(const std::string& name) const { return scratch_.path() + "/" + name; }
  const std::string& root() const { return scratch_.path(); }

  // What it saw after mounting: "read content, left 0 sockets and 0 children", or the error.
  const std::string& report() const { return report_; }

  void Kill();   // with SIGKILL, and waits
  bool Leave();  // makes it unmount and end; true if both went well

 private:
  bool WaitForEnd();

  ScratchPoint scratch_;
  std::optional<Watchdog> watchdog_;
  std::string report_;
  pid_t pid_ = -1;
  Fd leave_;
};

}  // namespace agentfs::fuse::test
