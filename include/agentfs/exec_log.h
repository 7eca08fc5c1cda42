// SPDX-License-Identifier: Apache-2.0
//
// Execs: the commands that ran in a workspace (run, exec, an MCP call, apply), each a row that file
// operations and tool calls refer to.
//
// Thread-safe, as the Volume is. A row is committed in its order with the changes around it, not
// synced: what a crash takes it takes together with the changes of that time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

namespace exec_kinds {
inline constexpr std::string_view kRun = "run";
inline constexpr std::string_view kExec = "exec";
inline constexpr std::string_view kMcp = "mcp";
inline constexpr std::string_view kApply = "apply";
}  // namespace exec_kinds

struct ExecStart {
  std::string kind = std::string(exec_kinds::kRun);
  std::vector<std::string> command = {};  // the arguments; with `shell` one text for a shell
  bool shell = false;
  std::string directory = {};  // where it runs, as the command sees it
  std::string branch = {};
  uint64_t snapshot = 0;  // the number of the snapshot before; 0: none
  // What the policy said: allow, deny, ask ...; the rule that decided and why.
  std::string action = {};
  std::string rule = {};
  std::string reason = {};
  uint32_t uid = 0;
  std::string label = {};    // what the caller calls it
  std::string details = {};  // JSON: whatever the caller wants kept
};

struct ExecEnd {
  int status = 0;  // the exit status; 128 + signal if it was killed
  int signal = 0;  // 0: it exited
  std::optional<std::string> details = std::nullopt;  // in place of those of the start
};

inline constexpr int kExecRunning = -1;  // the status of one that has not ended
inline constexpr int kExecLost = -2;     // nobody saw how it ended
inline constexpr int kExecRefused = -3;  // the policy did not let it run

struct ExecRecord {
  uint64_t id = 0;
  ExecStart start;
  int64_t start_ns = 0, end_ns = 0;  // end 0: running
  int status = kExecRunning;
  int signal = 0;
};

// Gives the id, which no other exec of this workspace ever had.
Result<uint64_t> BeginExec(Volume& volume, const ExecStart& start);
Result<ExecRecord> BeginExecRecord(Volume& volume, const ExecStart& start);
// ENOENT: there is none with this id. One that has ended already stays as it is.
Result<void> EndExec(Volume& volume, uint64_t id, const ExecEnd& end);
// The same without reading the row again, for who has kept the record that BeginExec began.
Result<void> EndExec(Volume& volume, ExecRecord record, const ExecEnd& end);
// For decisions that are refused before anything runs: begun and ended at once.
Result<uint64_t> RecordExec(Volume& volume, const ExecStart& start, const ExecEnd& end);

Result<std::optional<ExecRecord>> GetExec(Volume& volume, uint64_t id);
// Newest first, until `visit` says kStop.
Result<void> ListExecs(Volume& volume, const std::function<Visit(const ExecRecord&)>& visit);

// When a workspace is opened nothing runs in it: what is not ended was cut off (kExecLost).
Result<void> EndLostExecs(Volume& volume);

// The command as people type it, quoted where a shell would need it.
std::string CommandText(const ExecStart& start);

}  // namespace agentfs
