// SPDX-License-Identifier: Apache-2.0
//
// Changes that would act on the person later: what runs by itself once it is in the real files.
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "workspace/changes.h"

namespace agentfs {

struct Risk {
  std::string path;
  std::string reason;  // "a git hook", "a new executable"
};

Result<std::vector<Risk>> FindRisks(const Views& views, const std::vector<PathChange>& changes);

}  // namespace agentfs
