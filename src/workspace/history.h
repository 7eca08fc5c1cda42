// SPDX-License-Identifier: Apache-2.0
//
// What has happened in a workspace, as far as it is remembered: runs, snapshots, applies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "workspace/workspace.h"

namespace agentfs {

struct HistoryEvent {
  enum class Kind : uint8_t { kRun, kExec, kSnapshot, kApply, kApplyUndone, kMcp };
  Kind kind = Kind::kSnapshot;
  uint64_t exec = 0;          // its record (exec_log.h); 0: none
  std::optional<int> status;  // of one that has ended and was seen to
  int64_t time_ns = 0;
  std::string branch;
  std::string ref;   // the snapshot: of runs and applies, what was before
  std::string text;  // the command, the message, how many paths
};

// Newest first.
Result<std::vector<HistoryEvent>> ReadHistory(Volume& volume, const Layout& layout);

// Adds an apply, or that it was taken back; once, though it be said twice.
Result<void> NoteApply(const Layout& layout, HistoryEvent::Kind kind, int64_t time_ns,
                       const std::string& branch, const std::string& snapshot, size_t paths);

// One version of a file: since `ref` it is this.
struct FileVersion {
  std::string ref;  // a snapshot, or the branch itself
  Timestamp time;   // when the snapshot was taken; of the branch, the file's own mtime or now
  std::optional<Attr> attr;  // none: it is not there
  uint64_t exec = 0;         // the one that made it so; 0: none did, or it is not known
};

// The versions of a path in a branch and its snapshots, newest first; each differs from the next.
Result<std::vector<FileVersion>> VersionsOf(Volume& volume, const std::string& branch,
                                            const std::string& path);

}  // namespace agentfs
