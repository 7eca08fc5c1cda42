// SPDX-License-Identifier: Apache-2.0
//
// open(2) for writing, by path.
#pragma once

#include <string_view>

#include "agentfs/files.h"
#include "core/files/resolver.h"

namespace agentfs {

struct OpenedFile {
  Place place;
  bool created = false;
};

// The regular file at `path`, made (0666 less umask) if missing, with the right to write to it
// checked; O_TRUNC in `flags` empties it. EISDIR, and EINVAL for what is no regular file.
Result<OpenedFile> OpenForWriting(FileSystem& fs, const Caller& caller, std::string_view path,
                                  int flags);

}  // namespace agentfs
