// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "subject.h"

namespace agentfs::posix {

// The directory `root` through system calls. Identities are those of the calling thread (only the
// umask belongs to the process), and need a process that runs as root.
Result<std::unique_ptr<Subject>> OpenNativeSubject(const std::string& root);

// A directory of its own below $TMPDIR or /tmp, removed with all its content at the end. Everybody
// may search it.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  // A new directory in it, mode 0755.
  std::string Make(const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace agentfs::posix
