// SPDX-License-Identifier: Apache-2.0
//
// Changes as people and scripts read them: lines, bars, JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "cli/context.h"
#include "workspace/changes.h"
#include "workspace/patch.h"

namespace agentfs::cli {

// 'A', 'M', 'D' or 'R'.
char StatusLetter(const PathChange& change);
// Without directories whose change is only that of what they hold.
std::vector<const PathChange*> ListedChanges(const std::vector<PathChange>& changes);
// "A\t/path\n", "R\t/old\t/new\n"; names as git quotes them, a directory with a slash behind it.
std::string StatusLine(const PathChange& change);
// {"status", "path", "old_path", "type", "mode", "size", ...}
nlohmann::ordered_json ChangeJson(const PathChange& change);
// {"added": 1, "modified": 0, "removed": 2, "renamed": 0}
nlohmann::ordered_json CountsJson(const std::vector<PathChange>& changes);
// "2 deleted, 1 added".
std::string CountsText(const std::vector<PathChange>& changes);
// Lines for people, what was deleted first and never cut off, though a directory that is gone with
// many files is one line; of the others at most `limit`, what is in .git last.
std::string ChangeSummary(const std::vector<PathChange>& changes, size_t limit);

// One file of `diff --stat`.
struct FileStat {
  const PathChange* change = nullptr;
  LineCounts lines;
};
// As git prints it, with what was deleted first.
std::string StatText(const std::vector<FileStat>& files, size_t width, bool color);

}  // namespace agentfs::cli
