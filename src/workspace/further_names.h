// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

struct FurtherName {
  NodeRef parent;
  std::string name;
};

// The names in `after` of touched files that have several (hard links) and are not what they are in
// `before`. A file knows one of its names; the tree is looked through for the others, but only if
// there is such a file. What is outside of the workspace is left out.
Result<std::vector<FurtherName>> FindFurtherNames(FileSystem& before, FileSystem& after,
                                                  const Touched& touched);

}  // namespace agentfs
