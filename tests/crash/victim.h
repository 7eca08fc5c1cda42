// SPDX-License-Identifier: Apache-2.0
//
// A process that works on a volume and is killed. It is this program again, with other arguments.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "rig.h"

namespace agentfs::crash {

// What the victim reports once an operation has returned.
struct Report {
  uint32_t operation = 0;  // counted from 1; 0: the volume is open
  int32_t code = 0;        // its errno
  uint64_t log_bytes = 0;  // the size of SQLite's -wal file then
};

class Victim {
 public:
  // Starts it on operations 1, 2, ... of the seed, without end.
  Victim(const Workspace& workspace, uint64_t seed, uint32_t commit_interval_ms);
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  // Both return when the victim is dead, with all that it reported.
  std::vector<Report> KillAfterReports(size_t count);
  std::vector<Report> KillAfter(std::chrono::microseconds time);

 private:
  std::optional<Report> Read(std::optional<std::chrono::steady_clock::time_point> deadline);
  std::vector<Report> Kill(std::vector<Report> reports);

  pid_t pid_ = -1;
  int pipe_ = -1;
};

// If the arguments are a victim's: works until killed, and does not return unless that fails.
std::optional<int> RunVictim(int argc, char** argv);

}  // namespace agentfs::crash
