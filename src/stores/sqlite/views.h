// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agentfs/result.h"
#include "agentfs/store.h"
#include "stores/sqlite/connection.h"

namespace agentfs {

// Makes the schema's views and their indexes in the database, in place of older ones of the same
// names; writes nothing if they are as they should be. Views are for people: where they cannot be
// made, for want of space or of a free name, all else works.
void PutViews(Connection& connection, const Schema& schema);

// Whether the database has all of them as they should be.
Result<bool> HasViews(Connection& connection, const Schema& schema);

}  // namespace agentfs
