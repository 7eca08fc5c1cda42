// SPDX-License-Identifier: Apache-2.0
//
// Requests that wait for a person's word. Each may be taken once, by the user who made it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

// Keeps the request; the id, which cannot be guessed. On stable storage when it returns.
Result<std::string> KeepApproval(Volume& volume, uint32_t uid, std::string_view request);

// The request, which is used up when this returns, on stable storage. ENOENT: there is none with
// this id; EALREADY: it was taken; EPERM: another user made it. One thread at a time.
Result<std::string> TakeApproval(Volume& volume, uint32_t uid, std::string_view id);

}  // namespace agentfs
