// SPDX-License-Identifier: Apache-2.0
//
// What people write for paths and refs on the command line.
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "cli/context.h"
#include "workspace/changes.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

// The path in the workspace: "/src/a.c" is below its root, "a.c" below where the command runs if
// that is in the base; a host path into the base is understood too. EINVAL, ENAMETOOLONG.
Result<std::string> WorkspacePath(const Context& context, const Layout& layout,
                                  const std::string& argument);
Result<std::vector<std::string>> WorkspacePaths(const Context& context, const Layout& layout,
                                                const std::vector<std::string>& arguments);

// The same for what may also be outside of the workspace (kHostPrefix), as the host names it:
// absolute paths that neither view has in the workspace, but one has there.
Result<std::vector<std::string>> PathsInAndOut(const Context& context, const Layout& layout,
                                               const Views& views,
                                               const std::vector<std::string>& arguments);

// ENOENT for a path that neither view has: "PATH: neither in WHERE".
Result<void> RequirePaths(Context& context, const Views& views,
                          const std::vector<std::string>& paths, const std::string& where);

bool IsBranch(Volume& volume, const std::string& ref);
// A branch, a snapshot's name or id, or "base".
bool IsRef(Volume& volume, const std::string& ref);
// ENOENT with a remedy unless it is one.
Result<void> RequireRef(Volume& volume, const std::string& ref);
Result<void> RequireBranch(Volume& volume, const std::string& branch);

}  // namespace agentfs::cli
