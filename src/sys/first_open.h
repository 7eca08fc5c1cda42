// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace agentfs {

// Opens a file of the view that is mounted at `view`, and closes it. To the first OPEN of a
// connection the server answers that none is needed: from then on the kernel sends neither OPEN nor
// RELEASE. Until then it sends a RELEASE for each file that is created. Not for the server itself,
// which would wait for its own answer.
void OpenFirst(const std::string& view);

}  // namespace agentfs
