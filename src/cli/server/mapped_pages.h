// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "agentfs/result.h"

namespace agentfs::cli {

// Has what processes have stored to shared mappings of files below a mount point written, and
// returns when it is in the view. `written` is Mount::mappings_written of that mount. ETIMEDOUT:
// the mount does not answer.
Result<void> WriteMappedPages(const std::string& point,
                              const std::shared_ptr<const std::atomic<bool>>& written);

}  // namespace agentfs::cli
