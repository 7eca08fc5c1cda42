// SPDX-License-Identifier: Apache-2.0
//
// SQLite's errors as ours.
#pragma once

#include <string>
#include <string_view>

#include "agentfs/result.h"

struct sqlite3;

namespace agentfs {

// The errno for an (extended) SQLite result code; `system_errno` is what the system call behind it
// gave, 0 if none did.
int ErrnoOfSqlite(int code, int system_errno);

// "cannot WHAT 'FILE': why", with what to do where there is something to do. `db` may be null.
Error SqliteError(sqlite3* db, int code, std::string_view what, std::string_view file);

// The remedy for an errno that a database file gave; empty if there is none.
std::string RemedyFor(int code, std::string_view file);

}  // namespace agentfs
