// SPDX-License-Identifier: Apache-2.0
//
// Which versions of a store's file a schema can read.
#pragma once

#include <cstdint>
#include <string>

#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

// EPROTONOSUPPORT unless `found`, the version of `file`, is one that the schema can read.
Result<void> CheckVersion(const std::string& file, uint32_t found, const Schema& schema);

// Whether a file of version `found` has the table.
inline bool HasTable(const Table& table, uint32_t found) { return table.since <= found; }

}  // namespace agentfs
