// SPDX-License-Identifier: Apache-2.0
//
// File modes as people read and write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agentfs/result.h"

namespace agentfs::cli {

// "file", "directory", "symlink", "fifo", "socket", "block", "character".
std::string_view TypeName(uint32_t mode);
// "-rwxr-xr-x", as ls -l.
std::string ModeString(uint32_t mode);

// The permission bits that chmod(1) would give a file of `mode`: octal ("644", "04755") or
// symbolic ("u+x,go-w", "a=rX"); `umask` holds where a symbolic mode names nobody. EINVAL.
Result<uint32_t> ChangeMode(std::string_view text, uint32_t mode, uint32_t umask);

}  // namespace agentfs::cli
