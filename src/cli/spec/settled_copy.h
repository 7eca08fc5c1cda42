// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::cli {

// A program that writes a SQLite database may leave a part of it in a log beside, FILE-wal. If
// there is one, a copy of both as one file without a name; else an invalid descriptor. Nothing is
// changed where the file is.
Result<Fd> SettledCopy(const std::string& file);

}  // namespace agentfs::cli
