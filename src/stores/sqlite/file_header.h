// SPDX-License-Identifier: Apache-2.0
//
// What a database file says of itself, read without SQLite, so that a file that is not ours or is
// too new stays as it is, byte for byte.
#pragma once

#include <cstdint>
#include <string>

#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

// "AgFS": in the application_id of every database of ours.
inline constexpr uint32_t kApplicationId = 0x41674653;
// Of files that are made now; large pages hold large rows in fewer pieces, and make small commits
// heavier.
inline constexpr uint32_t kPageSize = 16384;
inline constexpr uint32_t kLargeRowsPageSize = 65536;

enum class FileState : uint8_t { kMissing, kEmpty, kOurs };

// EINVAL: not a database of ours. EPROTONOSUPPORT: of a version that the schema cannot read.
// Otherwise the errno of opening or reading it.
Result<FileState> InspectFile(const std::string& file, const Schema& schema);

}  // namespace agentfs
