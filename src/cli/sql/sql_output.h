// SPDX-License-Identifier: Apache-2.0
//
// The answer to a question in SQL, printed.
#pragma once

#include "agentfs/result.h"
#include "cli/context.h"
#include "cli/sql/query_sandbox.h"

namespace agentfs::cli {

enum class SqlFormat : uint8_t { kTable, kCsv, kJson };

// Table: NULL as such, bytes that are not to be shown as escapes. CSV (RFC 4180) with a header:
// NULL is empty. JSON: an array of objects, blobs as {"base64": ...}.
Result<void> PrintAnswer(const Context& context, const SqlAnswer& answer, SqlFormat format);

}  // namespace agentfs::cli
