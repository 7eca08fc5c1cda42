// SPDX-License-Identifier: Apache-2.0
//
// A database that a command makes or reads, as a file of its own while the command runs.
#pragma once

#include <string>

#include "agentfs/result.h"
#include "cli/console.h"

namespace agentfs::cli {

// A name beside the workspace's database, where there is room for it. Whatever has the name, and
// what SQLite puts beside it, is removed at the end.
class DraftFile {
 public:
  // `use` says for what ("pack"); what a process that was killed has left of that use goes first.
  // The caller has the workspace: no other process makes drafts.
  DraftFile(const std::string& database, const std::string& use);
  ~DraftFile();
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;

  const std::string& file() const { return file_; }
  // Writes it to the command's file (command_file.h).
  Result<void> Deliver(const Console& console) const;

 private:
  const std::string file_;
};

}  // namespace agentfs::cli
