// SPDX-License-Identifier: Apache-2.0
//
// Temporary names in a directory, and removing whole trees.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"

namespace agentfs {

// Removes `name` of `parent`, with everything below it. The error names the path, relative to
// `parent`, that could not be removed; what was removed before stays so. ECANCELED.
Result<void> DeleteTree(FileSystem& fs, const Caller& caller, Node& parent, std::string_view name,
                        const std::stop_token& stop);

// The same for a tree that we have made ourselves and that is wanted no more, whatever modes its
// directories have. What cannot be removed stays.
void DiscardTree(FileSystem& fs, const Caller& caller, Node& parent, std::string_view name);

// Removes from `parent` the directories with temporary names that a process which was killed has
// left. Those of this process are in use, and there is no other on the same volume.
void DiscardAbandoned(FileSystem& fs, const Caller& caller, Node& parent, std::string_view prefix);

// A new directory in `parent`, open to its owner only, under a name that begins with `prefix`.
struct TemporaryDirectory {
  std::string name;
  Found found;
};
Result<TemporaryDirectory> MakeTemporaryDirectory(FileSystem& fs, const Caller& caller,
                                                  Node& parent, std::string_view prefix);
// A name that begins with `prefix` and is, most likely, free.
std::string TemporaryName(std::string_view prefix);

}  // namespace agentfs
