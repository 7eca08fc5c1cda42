// SPDX-License-Identifier: Apache-2.0
//
// Changes as a patch in git's format, which `git apply` accepts.
#pragma once

#include <string>
#include <string_view>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "workspace/changes.h"
#include "workspace/text_lines.h"

namespace agentfs {

// Whether a patch can say it: git knows files and links, not directories, pipes, sockets, devices,
// nor what is in a repository's own `.git`, and of modes only whether the owner may execute.
bool PatchCanSay(const PathChange& change);

// Writes changes between two views, in pieces: of large files only a part is in memory at a time.
// One thread; all that it is given must outlive it. Errors of reading name the path.
class PatchWriter {
 public:
  PatchWriter(FileSystem& before, FileSystem& after, PatchSink sink)
      : before_(before), after_(after), sink_(std::move(sink)) {}

  // Nothing for what PatchCanSay denies.
  Result<void> Write(const PathChange& change);

 private:
  struct Side {
    FileSystem& fs;
    const Found& found;  // no node: there is nothing
    std::string path;    // without the leading slash
  };
  enum class Renamed : bool { kNo, kYes };
  enum class Differs : bool { kNo, kYes };  // in content
  Result<void> WriteDelta(const Side& before, const Side& after, Renamed renamed, Differs differs);
  Result<void> WriteModes(const Side& before, const Side& after);
  Result<void> WriteContent(const Side& before, const Side& after);
  Result<void> WriteBinary(const Side& before, const Side& after);
  Result<void> WriteText(const Side& before, const Side& after);
  Result<void> Header(std::string_view line) { return sink_(PatchLine::kHeader, line); }

  FileSystem& before_;
  FileSystem& after_;
  const PatchSink sink_;
};

// How many lines were added and removed, for summaries.
struct LineCounts {
  uint64_t added = 0, removed = 0;
  bool binary = false;
};
Result<LineCounts> CountLines(FileSystem& before, FileSystem& after, const PathChange& change);

}  // namespace agentfs
