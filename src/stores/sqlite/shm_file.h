// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace agentfs {

// Before the database `file` is first read: where the filesystem writes every page to a new place
// (btrfs), the file that SQLite maps beside it is made so that it keeps its own. Else a store to
// the mapping is SIGBUS once the disk is full. What cannot be done is left as it is.
void KeepShmInPlace(const std::string& file);

}  // namespace agentfs
