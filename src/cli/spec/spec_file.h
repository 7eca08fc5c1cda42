// SPDX-License-Identifier: Apache-2.0
//
// A tree as a SQLite file of the public Agent Filesystem Specification, version 0.4, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agentfs/files.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs::cli {

struct SpecSaved {
  uint64_t nodes = 0;
  uint64_t xattrs_left_out = 0;  // the specification has no place for them
};

// Writes everything that the view shows, base included, to `file`, which must not exist. The tables
// fs_whiteout and fs_origin, which speak of what is beneath, are empty: the file stands alone.
// The values and tool calls of the volume are in it too. EBUSY: a file changed meanwhile.
Result<SpecSaved> SaveSpec(const Files& files, Volume& volume, const std::string& file);

// How a file is loaded.
enum class SpecKind : uint8_t {
  kTree,   // a whole tree: it replaces what is there
  kDelta,  // changes over a base (whiteouts, origins): they are laid over what is there
};

// How many bytes of a file IsDatabase wants to see.
inline constexpr size_t kMagicBytes = 16;
// Whether a file that begins so is a SQLite database: no archive that we read does.
bool IsDatabase(std::string_view beginning);

// Reads `file`, which must not change meanwhile, into the directory at `path`. Variants are taken
// as they come: columns and tables that older versions lack, missing chunks (zeros). EBADMSG: the
// database is damaged; EINVAL: names with '/', names of inodes that there are not, directories with
// several names or below themselves, sizes and types that cannot be, symbolic links that lead
// outside (unless `limits` keeps them); EOVERFLOW: more entries than allowed. `kind` is set before
// anything is changed: after an error of a kTree the directory is as it was; of a kDelta it may be
// half done, and the caller goes back to its snapshot. Loaded as the root, the file's values
// replace those of the same keys in the volume, and the tool calls that the volume has not are
// added.
Result<void> LoadSpec(const Files& files, Volume& volume, std::string_view path,
                      const std::string& file, const ArchiveLimits& limits, SpecKind* kind);

}  // namespace agentfs::cli
